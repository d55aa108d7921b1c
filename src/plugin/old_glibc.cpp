// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include <cstdint>
#include <dlfcn.h>
#include <link.h>

// Compiled into each plugin, so that it loads with glibc 2.28 (RHEL 8, Debian 10, Ubuntu 20.04) and
// later. glibc has given some functions new versions since then: it moved them to another library,
// or added them. What is defined here takes their place within the plugin, in its static C++
// runtime too, and leads to the versions that glibc 2.28 has. Nothing of it is visible outside.
#if defined(__x86_64__)
#define NCCLPROBE_OLD "GLIBC_2.2.5" // the oldest version of this machine's glibc
#define NCCLPROBE_OLD_FXSTATAT "GLIBC_2.4"
constexpr int k_stat_version = 1;
#elif defined(__aarch64__)
#define NCCLPROBE_OLD "GLIBC_2.17"
#define NCCLPROBE_OLD_FXSTATAT NCCLPROBE_OLD
constexpr int k_stat_version = 0;
#else
#error "add the oldest version of this machine's glibc"
#endif

// `name`, with these parameters, becomes a call of this version of `other`.
#define NCCLPROBE_LEAD(result, name, parameters, other, version, other_parameters, arguments)      \
  __asm__(".symver old_" #name "," #other "@" version);                                            \
  extern "C" result old_##name other_parameters;                                                   \
  extern "C" result new_##name parameters __asm__(#name);                                          \
  result new_##name parameters {                                                                   \
    return old_##name arguments;                                                                   \
  }
#define NCCLPROBE_OLDEST(result, name, parameters, arguments)                                      \
  NCCLPROBE_LEAD(result, name, parameters, name, NCCLPROBE_OLD, parameters, arguments)

// In libc since 2.34 (sigmask: 2.32).
NCCLPROBE_OLDEST(int, pthread_create,
                 (unsigned long* thread, const void* attributes, void* (*run)(void*), void* with),
                 (thread, attributes, run, with))
NCCLPROBE_OLDEST(int, pthread_detach, (unsigned long thread), (thread))
NCCLPROBE_OLDEST(int, pthread_join, (unsigned long thread, void** result), (thread, result))
NCCLPROBE_OLDEST(int, pthread_once, (int* control, void (*run)()), (control, run))
NCCLPROBE_OLDEST(int, __pthread_key_create, (unsigned* key, void (*end)(void*)), (key, end))
NCCLPROBE_OLDEST(int, pthread_sigmask, (int how, const void* set, void* old), (how, set, old))
NCCLPROBE_OLDEST(void*, dlopen, (const char* file, int mode), (file, mode))
NCCLPROBE_OLDEST(void*, dlsym, (void* library, const char* name), (library, name))

// Functions since 2.33; before, headers made calls with the structure's version of them.
NCCLPROBE_LEAD(int, stat, (const char* path, void* status), __xstat, NCCLPROBE_OLD,
               (int version, const char* path, void* status), (k_stat_version, path, status))
NCCLPROBE_LEAD(int, fstat64, (int file, void* status), __fxstat64, NCCLPROBE_OLD,
               (int version, int file, void* status), (k_stat_version, file, status))
NCCLPROBE_LEAD(int, fstat, (int file, void* status), __fxstat, NCCLPROBE_OLD,
               (int version, int file, void* status), (k_stat_version, file, status))
NCCLPROBE_LEAD(int, lstat, (const char* path, void* status), __lxstat, NCCLPROBE_OLD,
               (int version, const char* path, void* status), (k_stat_version, path, status))
NCCLPROBE_LEAD(int, fstatat, (int folder, const char* path, void* status, int flags), __fxstatat,
               NCCLPROBE_OLD_FXSTATAT,
               (int version, int folder, const char* path, void* status, int flags),
               (k_stat_version, folder, path, status, flags))

// Since 2.38, as C23 wants it.
#define NCCLPROBE_C17(result, name)                                                                \
  NCCLPROBE_LEAD(result, __isoc23_##name, (const char* text, char** end, int base), name,          \
                 NCCLPROBE_OLD, (const char* text, char** end, int base), (text, end, base))
NCCLPROBE_C17(long, strtol)
NCCLPROBE_C17(unsigned long, strtoul)
NCCLPROBE_C17(long long, strtoll)
NCCLPROBE_C17(unsigned long long, strtoull)

// Since 2.32. A hint for std::shared_ptr: threads may always exist.
extern "C" {
char __libc_single_threaded = 0; // NOLINT: glibc's name
}

#ifdef DLFO_STRUCT_HAS_EH_DBASE // 2.35: the runtime finds handlers of exceptions by it
namespace {

struct Search {
  std::uintptr_t address;
  dl_find_object* found;
};

int look_into(dl_phdr_info* object, std::size_t, void* data) {
  const Search& search = *static_cast<Search*>(data);
  dl_find_object found{};
  bool contains = false;
  for (int i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& part = object->dlpi_phdr[i];
    const std::uintptr_t begin = object->dlpi_addr + part.p_vaddr;
    if (part.p_type == PT_LOAD && search.address - begin < part.p_memsz) {
      contains = true;
      found.dlfo_map_start = reinterpret_cast<void*>(begin);
      found.dlfo_map_end = reinterpret_cast<void*>(begin + part.p_memsz);
    } else if (part.p_type == PT_GNU_EH_FRAME) {
      found.dlfo_eh_frame = reinterpret_cast<void*>(begin);
    }
  }
  if (!contains || found.dlfo_eh_frame == nullptr)
    return 0;
  *search.found = found;
  return 1;
}

} // namespace

extern "C" int new_dl_find_object(void* address, dl_find_object* found) __asm__("_dl_find_object");
int new_dl_find_object(void* address, dl_find_object* found) {
  Search search{reinterpret_cast<std::uintptr_t>(address), found};
  return dl_iterate_phdr(look_into, &search) == 1 ? 0 : -1;
}
#endif
