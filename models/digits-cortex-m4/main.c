/* main.c - recognizes a hand-written digit with a compiled model and prints it. */
#include "digits.h"
#include "semihosting.h"

enum { SIDE = 8, DARKEST = 16 };

/* ../pictures/7.png: the darkness of ink. */
static const unsigned char picture[SIDE][SIDE] = {
    {0, 0, 4, 15, 16, 13, 13, 10}, {0, 0, 12, 13, 10, 15, 14, 2}, {0, 2, 16, 6, 2, 14, 6, 0}, {0, 1, 5, 0, 9, 11, 0, 0},
    {0, 0, 7, 12, 16, 14, 6, 0},   {0, 0, 8, 15, 15, 11, 2, 0},   {0, 0, 2, 16, 8, 0, 0, 0},  {0, 0, 7, 15, 4, 0, 0, 0},
};

/* In .bss rather than on the stack, so that the linker says if the model does not fit. */
static unsigned char arena[DIGITS_ARENA_BYTES] __attribute__((aligned(DIGITS_ARENA_ALIGN)));
static float image[DIGITS_IN0_SIZE], probabilities[DIGITS_OUT0_SIZE];

static void print_picture(void) {
    static const char shades[] = " .:oO#@";
    for (int y = 0; y < SIDE; y++) {
        char line[2 * SIDE + 2];
        for (int x = 0; x < SIDE; x++) {
            const char shade = shades[picture[y][x] * 6 / DARKEST];
            line[2 * x] = shade;
            line[2 * x + 1] = shade;
        }
        line[2 * SIDE] = '\n';
        line[2 * SIDE + 1] = '\0';
        print(line);
    }
}

static int digit_of_max(void) {
    int best = 0;
    for (int i = 1; i < DIGITS_OUT0_SIZE; i++)
        if (probabilities[i] > probabilities[best]) best = i;
    return best;
}

int main(void) {
    for (int i = 0; i < DIGITS_IN0_SIZE; i++) image[i] = (float)picture[i / SIDE][i % SIDE] / DARKEST;
    if (digits_run(image, probabilities, arena)) return 1;
    const int digit = digit_of_max();
    const int percent = (int)(99.9f * probabilities[digit]); /* two digits: at most 99 */
    const char said[] = {(char)('0' + digit), '\0'};
    const char sure[] = {(char)('0' + percent / 10 % 10), (char)('0' + percent % 10), '\0'};
    print_picture();
    print("This is a ");
    print(said);
    print(", with more than ");
    print(sure);
    print(" %.\n");
    return 0;
}
