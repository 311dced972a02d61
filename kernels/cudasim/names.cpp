/* names.cpp - the name of a kernel, for reports. Kernels are static functions, so only the symbol table of their
 * file contains their names. */
#include "kernels/cudasim/sim.h"

#include <cxxabi.h>
#include <dlfcn.h>
#include <elf.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace cudasim {

namespace {

/* A file mapped for reading during this object's lifetime; `start` is NULL on failure. */
class MappedFile {
  public:
    const char *start = nullptr;
    explicit MappedFile(const char *path) {
        struct stat status;
        const int file = open(path, O_RDONLY | O_CLOEXEC);
        if (file < 0) return;
        if (!fstat(file, &status)) {
            size = (size_t)status.st_size;
            void *memory = mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file, 0);
            if (memory != MAP_FAILED) start = (const char *)memory;
        }
        close(file);
    }
    ~MappedFile() {
        if (start) munmap(const_cast<char *>(start), size);
    }
    MappedFile(const MappedFile &) = delete;
    MappedFile &operator=(const MappedFile &) = delete;

  private:
    size_t size = 0;
};

/* Returns "" if the file has no such symbol. The loader has accepted the file, so its headers need no checks. */
std::string symbol_at(const char *file, uintptr_t offset) {
    const ElfW(Ehdr) *header = (const ElfW(Ehdr) *)file;
    const ElfW(Shdr) *sections = (const ElfW(Shdr) *)(file + header->e_shoff);
    for (int i = 0; i < header->e_shnum; i++) {
        if (sections[i].sh_type != SHT_SYMTAB) continue;
        const ElfW(Sym) *symbols = (const ElfW(Sym) *)(file + sections[i].sh_offset);
        const char *names = file + sections[sections[i].sh_link].sh_offset;
        for (size_t k = 0; k < sections[i].sh_size / sizeof *symbols; k++)
            if (symbols[k].st_value == offset && ELF64_ST_TYPE(symbols[k].st_info) == STT_FUNC)
                return names + symbols[k].st_name;
    }
    return "";
}

/* "void softmax<float>(float const*)" -> "softmax<float>" */
std::string without_types(const std::string &text) {
    size_t start = 0;
    int depth = 0;
    for (size_t i = 0; i < text.size(); i++) {
        if (text[i] == '<') depth++;
        if (text[i] == '>') depth--;
        if (depth) continue;
        if (text[i] == ' ') start = i + 1;
        if (text[i] == '(') return text.substr(start, i - start);
    }
    return text;
}

std::string readable(const std::string &symbol) {
    int status;
    char *text = abi::__cxa_demangle(symbol.c_str(), nullptr, nullptr, &status);
    const std::string name = text ? without_types(text) : symbol;
    free(text);
    return name;
}

} // namespace

std::string kernel_name(const void *kernel) {
    Dl_info object;
    if (!dladdr(kernel, &object)) return "?";
    const MappedFile file(object.dli_fname);
    if (!file.start) return "?";
    const bool moved = ((const ElfW(Ehdr) *)file.start)->e_type == ET_DYN;
    const std::string symbol = symbol_at(file.start, (uintptr_t)kernel - (moved ? (uintptr_t)object.dli_fbase : 0));
    return symbol.empty() ? "?" : readable(symbol);
}

} // namespace cudasim
