/* file_kind.c - recognizes files that are not ONNX models, and says what to do about them. */
#include <string.h>

#include "loader/loader.h"

static const struct {
    const char *start;
    size_t offset, size;
    const char *what;
} kinds[] = {
    {"version https://git-lfs", 0, 23,
     "a Git LFS pointer, not the file itself: run `git lfs pull` where it was cloned"},
    {"\x1f\x8b", 0, 2, "a gzip archive: unpack it (gunzip, tar xzf)"},
    {"BZh", 0, 3, "a bzip2 archive: unpack it (bunzip2)"},
    {"\xfd"
     "7zXZ",
     0, 5, "an xz archive: unpack it (unxz)"},
    {"\x28\xb5\x2f\xfd", 0, 4, "a Zstandard archive: unpack it (unzstd)"},
    {"PK\x03\x04", 0, 4,
     "a ZIP archive, as PyTorch (.pt, .pth), Keras and NumPy (.npz) write it: unpack it if an ONNX "
     "file is inside, or export the model to ONNX (torch.onnx.export)"},
    {"ustar", 257, 5, "a tar archive: unpack it (tar xf)"},
    {"TFL3", 4, 4, "a TensorFlow Lite model: convert it to ONNX (tf2onnx --tflite)"},
    {"ORTM", 4, 4, "a model in ONNX Runtime's own format (.ort): take the .onnx file that it was made of"},
    {"GGUF", 0, 4, "a GGUF file (llama.cpp): it has weights, but no ONNX graph"},
    {"\x89HDF", 0, 4, "an HDF5 file, as Keras (.h5) writes it: convert it to ONNX (tf2onnx)"},
    {"\x80\x02", 0, 2, "a Python pickle, as old PyTorch writes it: export the model to ONNX (torch.onnx.export)"},
    {"\x80\x03", 0, 2, "a Python pickle: export the model to ONNX"},
    {"\x80\x04", 0, 2, "a Python pickle: export the model to ONNX"},
    {"\x80\x05", 0, 2, "a Python pickle: export the model to ONNX"},
    {"\x93NUMPY", 0, 6, "a NumPy array (.npy), not a model"},
    {"\x7f"
     "ELF",
     0, 4, "an ELF program or library, not a model"},
    {"%PDF", 0, 4, "a PDF document, not a model"},
    {"\x89PNG", 0, 4, "a PNG picture, not a model"},
    {"\xff\xd8\xff", 0, 3, "a JPEG picture, not a model"},
};

enum { LOOKED_AT = 512 };

/* True for a safetensors file: the length of a JSON header in 8 bytes (small, so bytes 6 and 7 are 0), then the header.
 */
static bool is_safetensors(const uint8_t *bytes, size_t size) {
    return size >= 10 && bytes[6] == 0 && bytes[7] == 0 && bytes[8] == '{' && (bytes[9] == '"' || bytes[9] == '}');
}

static bool is_text(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++)
        if (bytes[i] == 0x7f || (bytes[i] < ' ' && bytes[i] != '\n' && bytes[i] != '\r' && bytes[i] != '\t'))
            return false;
    return true;
}

/* The first character of a text after a byte order mark and white space. */
static char first_character(const uint8_t *bytes, size_t size) {
    size_t i = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;
    while (i < size && (bytes[i] == ' ' || bytes[i] == '\n' || bytes[i] == '\r' || bytes[i] == '\t')) i++;
    return i < size ? (char)bytes[i] : 0;
}

static const char *text_kind(const uint8_t *bytes, size_t size) {
    switch (first_character(bytes, size)) {
    case '<': return "an HTML or XML page: was an error or a login page downloaded instead of the file?";
    case '{':
    case '[': return "a JSON text: an ONNX model is a binary file";
    default: return "a text: an ONNX model is a binary file";
    }
}

static const char *kind_of(const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (kinds[i].offset + kinds[i].size <= size &&
            memcmp(bytes + kinds[i].offset, kinds[i].start, kinds[i].size) == 0)
            return kinds[i].what;
    if (is_safetensors(bytes, size))
        return "a safetensors file: it has weights, but no graph; export the model to ONNX";
    return is_text(bytes, size) ? text_kind(bytes, size) : NULL;
}

void tort_explain_file(tort_source *source, tort_error *error) {
    uint8_t bytes[LOOKED_AT];
    uint64_t file_size = tort_source_size(source);
    size_t size = file_size < LOOKED_AT ? (size_t)file_size : LOOKED_AT;
    if (size == 0) tort_fail(error, TORT_E_MODEL, "the file is empty: was its download cut short?");
    const char *kind = size && !tort_source_read(source, 0, 0, size, bytes, NULL) ? kind_of(bytes, size) : NULL;
    if (kind) tort_fail(error, TORT_E_MODEL, "this is %s", kind);
}
