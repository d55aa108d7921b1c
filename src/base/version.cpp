// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/version.h"

#include <fmt/format.h>

#include <cstring>
#include <elf.h>
#include <link.h>

namespace ncclprobe::base {
namespace {

constexpr std::size_t k_shown_bytes = 6;

// Notes are (header, name, content) with name and content padded to 4 bytes.
std::string build_id_in(const char* at, std::size_t size) {
  const char* end = at + size;
  auto padded = [](std::size_t bytes) { return (bytes + 3) & ~std::size_t{3}; };
  while (end - at >= static_cast<std::ptrdiff_t>(sizeof(ElfW(Nhdr)))) {
    ElfW(Nhdr) note;
    std::memcpy(&note, at, sizeof note);
    const char* name = at + sizeof note;
    const char* content = name + padded(note.n_namesz);
    if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == 4 && std::memcmp(name, "GNU", 4) == 0) {
      std::string text;
      for (std::size_t i = 0; i < note.n_descsz && i < k_shown_bytes; ++i)
        text += fmt::format("{:02x}", static_cast<unsigned char>(content[i]));
      return text;
    }
    at = content + padded(note.n_descsz);
  }
  return {};
}

} // namespace

std::string_view version() {
  return NCCLPROBE_VERSION;
}

std::string_view compiler() {
  return NCCLPROBE_COMPILER;
}

std::string build_id() {
  std::string id;
  // The program itself is visited first.
  auto look = [](dl_phdr_info* object, std::size_t, void* into) {
    for (int i = 0; i < object->dlpi_phnum; ++i)
      if (object->dlpi_phdr[i].p_type == PT_NOTE && static_cast<std::string*>(into)->empty())
        *static_cast<std::string*>(into) =
            build_id_in(reinterpret_cast<const char*>(object->dlpi_addr + // NOLINT
                                                      object->dlpi_phdr[i].p_vaddr),
                        object->dlpi_phdr[i].p_memsz);
    return 1;
  };
  ::dl_iterate_phdr(look, &id);
  return id;
}

std::string version_and_build() {
  std::string id = build_id();
  return fmt::format("{}{}", version(), id.empty() ? "" : " build " + id);
}

} // namespace ncclprobe::base
