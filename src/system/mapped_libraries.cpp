// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/mapped_libraries.h"

#include "base/text_files.h"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <fstream>

namespace ncclprobe::system {

using namespace base;
namespace {

// Reads what it is asked for, and no more than a sane ELF file holds: libraries may be gigabytes.
class ElfFile {
public:
  explicit ElfFile(const std::filesystem::path& path) : file_(path, std::ios::binary) {}

  template <typename T>
  bool read(std::uint64_t offset, T& into) {
    return read_bytes(offset, reinterpret_cast<char*>(&into), sizeof into);
  }

  template <typename T>
  std::vector<T> read_table(std::uint64_t offset, std::uint64_t count) {
    constexpr std::uint64_t k_most = 65'536;
    std::vector<T> table(std::min(count, k_most));
    if (!read_bytes(offset, reinterpret_cast<char*>(table.data()), table.size() * sizeof(T)))
      table.clear();
    return table;
  }

  std::string text(std::uint64_t offset) {
    char buffer[1024] = {};
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    file_.read(buffer, sizeof buffer - 1);
    return buffer;
  }

private:
  bool read_bytes(std::uint64_t offset, char* into, std::size_t size) {
    if (offset > INT64_MAX)
      return false;
    file_.clear();
    file_.seekg(static_cast<std::streamoff>(offset));
    return static_cast<bool>(file_.read(into, static_cast<std::streamsize>(size)));
  }

  std::ifstream file_;
};

// Where an address of the running program lies in its file.
std::optional<std::uint64_t> offset_of(const std::vector<Elf64_Phdr>& segments,
                                       std::uint64_t address) {
  for (const Elf64_Phdr& segment : segments)
    if (segment.p_type == PT_LOAD && address >= segment.p_vaddr &&
        address - segment.p_vaddr < segment.p_filesz)
      return segment.p_offset + (address - segment.p_vaddr);
  return std::nullopt;
}

std::optional<std::uint64_t> value_of(const std::vector<Elf64_Dyn>& entries, Elf64_Sxword tag) {
  for (const Elf64_Dyn& entry : entries) {
    if (entry.d_tag == DT_NULL)
      break;
    if (entry.d_tag == tag)
      return entry.d_un.d_val;
  }
  return std::nullopt;
}

// "7f.. r-xp 00000000 103:02 1234   /usr/lib/libc.so.6"; a file that was removed has " (deleted)"
// behind its name.
std::string executable_file(const std::string& line) {
  std::vector<std::string> words = words_of(line);
  if (words.size() < 6 || words[1].size() < 3 || words[1][2] != 'x' || words[5].front() != '/')
    return "";
  return line.substr(line.find('/'));
}

} // namespace

std::optional<DynamicNames> dynamic_names(const std::filesystem::path& path) {
  ElfFile file(path);
  Elf64_Ehdr header{};
  if (!file.read(0, header) || std::memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
      header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB ||
      header.e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  auto segments = file.read_table<Elf64_Phdr>(header.e_phoff, header.e_phnum);
  auto dynamic = std::find_if(segments.begin(), segments.end(), [](const Elf64_Phdr& segment) {
    return segment.p_type == PT_DYNAMIC;
  });
  DynamicNames names;
  if (dynamic == segments.end())
    return names;
  auto entries =
      file.read_table<Elf64_Dyn>(dynamic->p_offset, dynamic->p_filesz / sizeof(Elf64_Dyn));
  auto strings = value_of(entries, DT_STRTAB);
  std::optional<std::uint64_t> strings_at =
      strings ? offset_of(segments, *strings) : std::optional<std::uint64_t>();
  auto text = [&](std::optional<std::uint64_t> at) {
    return at && strings_at ? file.text(*strings_at + *at) : std::string();
  };
  names.soname = text(value_of(entries, DT_SONAME));
  names.runpath = text(value_of(entries, DT_RUNPATH));
  if (names.runpath.empty()) {
    names.runpath = text(value_of(entries, DT_RPATH));
    names.rpath = !names.runpath.empty();
  }
  return names;
}

std::vector<model::MappedLibrary> mapped_libraries(const std::filesystem::path& root) {
  std::vector<model::MappedLibrary> libraries;
  for (const std::string& line : lines_of(root / "proc/self/maps")) {
    std::string path = executable_file(line);
    bool known = std::any_of(libraries.begin(), libraries.end(),
                             [&](const auto& library) { return library.path == path; });
    if (path.empty() || known)
      continue;
    model::MappedLibrary library;
    library.path = path;
    if (auto names = dynamic_names(root / path.substr(1))) {
      library.soname = names->soname;
      library.runpath = names->runpath;
      library.rpath = names->rpath;
    }
    libraries.push_back(std::move(library));
  }
  return libraries;
}

} // namespace ncclprobe::system
