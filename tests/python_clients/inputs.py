"""Pictures and sounds that the clients are given."""

import numpy as np
from PIL import Image, ImageDraw, ImageFilter, ImageFont


def picture(lines, size, font=32, seed=0):
    """An RGB picture with lines of text on paper with a little noise."""
    noise = np.random.default_rng(seed).integers(225, 255, (size[1], size[0], 3), dtype=np.uint8)
    image = Image.fromarray(noise)
    draw = ImageDraw.Draw(image)
    for number, line in enumerate(lines):
        draw.text((20, 15 + number * 2 * font), line, fill=(20, 20, 60), font=ImageFont.load_default(font))
    return image


def ellipse(draw, centre, size, at, radii, fill):
    """An ellipse of a face: `at` and `radii` in units of its size."""
    (x, y), (dx, dy), (width, height) = centre, at, radii
    x, y, width, height = x + size * dx, y + size * dy, size * width, size * height
    draw.ellipse((x - width, y - height, x + width, y + height), fill)


def face(draw, centre, size):
    """Shoulders, hair, a face with eyes, a nose and a mouth."""
    skin = (224, 172, 140)
    ellipse(draw, centre, size, (0, 2.6), (1.7, 1.5), skin)
    ellipse(draw, centre, size, (0, 1), (0.4, 0.5), (200, 155, 126))
    ellipse(draw, centre, size, (0, -0.25), (0.95, 1.1), (60, 40, 30))
    ellipse(draw, centre, size, (0, 0.05), (0.78, 1), skin)
    for side in (-0.3, 0.3):
        ellipse(draw, centre, size, (side, -0.1), (0.16, 0.09), (250, 250, 250))
        ellipse(draw, centre, size, (side, -0.1), (0.07, 0.08), (40, 30, 30))
        ellipse(draw, centre, size, (side, -0.28), (0.18, 0.03), (60, 40, 30))
    ellipse(draw, centre, size, (0, 0.25), (0.07, 0.12), (190, 146, 119))
    ellipse(draw, centre, size, (0, 0.58), (0.26, 0.08), (170, 70, 75))


def faces():
    """An RGB picture of two faces."""
    image = Image.new("RGB", (640, 480), (110, 130, 150))
    draw = ImageDraw.Draw(image)
    face(draw, (170, 170), 90)
    face(draw, (460, 200), 120)
    return image.filter(ImageFilter.GaussianBlur(2))


def voice(rate, seconds, seed=0):
    """Syllables: harmonics of a gliding pitch under two moving formants, with pauses and faint noise. float32."""
    time = np.arange(int(rate * seconds)) / rate
    phase = 2 * np.pi * np.cumsum(130 + 25 * np.sin(4 * time)) / rate
    formants = 600 + 250 * np.sin(7 * time), 1500 + 600 * np.sin(5 * time)
    sound = sum(sum(np.exp(-(((130 * k - f) / 150) ** 2)) for f in formants) * np.sin(k * phase) for k in range(1, 24))
    loud = np.clip(4 * np.sin(5 * time), 0, 1) * (time % 3 < 2.2)
    noise = np.random.default_rng(seed).normal(size=time.size)
    return (0.7 * loud * sound / np.abs(sound).max() + 0.002 * noise).astype(np.float32)


def melody(rate, notes=(60, 64, 67, 72, 69, 65), seconds=0.5):
    """Plucked notes by number in MIDI, one after another. float32."""
    time = np.arange(int(rate * seconds)) / rate
    phases = [2 * np.pi * 440 * 2 ** ((note - 69) / 12) * time for note in notes]
    tones = [np.exp(-4 * time) * sum(np.sin(k * phase) / k**2 for k in range(1, 6)) for phase in phases]
    return np.concatenate(tones).astype(np.float32)
