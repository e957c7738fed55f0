// Pages of shared libraries that only the loader needed.

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"

namespace castile {

namespace {

bool has_text_relocations(const dl_phdr_info& info) {
    for (int i = 0; i < info.dlpi_phnum; ++i) {
        const ElfW(Phdr)& header = info.dlpi_phdr[i];
        if (header.p_type != PT_DYNAMIC) continue;
        for (const auto* entry = reinterpret_cast<const ElfW(Dyn)*>(info.dlpi_addr + header.p_vaddr); entry->d_tag != DT_NULL; ++entry)
            if (entry->d_tag == DT_TEXTREL || (entry->d_tag == DT_FLAGS && (entry->d_un.d_val & DF_TEXTREL))) return true;
    }
    return false;
}

}  // namespace

// Loading a library reads its tables of symbols and relocations and runs its initialisers: megabytes that are never looked at
// again. Segments that cannot be written are the file's own, so that a page which is needed after all comes back from the
// system's cache. dl_iterate_phdr keeps libraries from coming and going meanwhile.
void release_library_pages() noexcept {
    dl_iterate_phdr(
        [](dl_phdr_info* info, std::size_t, void*) {
            const auto page = static_cast<ElfW(Addr)>(sysconf(_SC_PAGESIZE));
            if (has_text_relocations(*info)) return 0;
            for (int i = 0; i < info->dlpi_phnum; ++i) {
                const ElfW(Phdr)& header = info->dlpi_phdr[i];
                if (header.p_type != PT_LOAD || (header.p_flags & PF_W)) continue;
                const ElfW(Addr) begin = (info->dlpi_addr + header.p_vaddr) & ~(page - 1);
                const ElfW(Addr) end = (info->dlpi_addr + header.p_vaddr + header.p_filesz + page - 1) & ~(page - 1);
                if (header.p_filesz > 0) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
            }
            return 0;
        },
        nullptr);
}

}  // namespace castile
