// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "system/mapped_libraries.h"

#include "base/mapped_file.h"
#include "base/text_files.h"
#include "base/value_at.h"

#include <algorithm>
#include <cstring>
#include <elf.h>

namespace ncclprobe::system {

using namespace base;
namespace {

// At most `most` values, in sequence.
template <typename T>
std::vector<T> values_at(std::string_view file, std::uint64_t offset, std::uint64_t most) {
  std::vector<T> values;
  while (values.size() < most)
    if (auto value = value_at<T>(file, offset + values.size() * sizeof(T)))
      values.push_back(*value);
    else
      break;
  return values;
}

// The file position of an address in the running program.
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

// "7f.. r-xp 00000000 103:02 1234   /usr/lib/libc.so.6"; after a removed file's name follows "
// (deleted)".
std::string executable_file(const std::string& line) {
  std::vector<std::string> words = words_of(line);
  if (words.size() < 6 || words[1].size() < 3 || words[1][2] != 'x' || words[5].front() != '/')
    return "";
  return line.substr(line.find('/'));
}

} // namespace

std::optional<DynamicNames> dynamic_names(const std::filesystem::path& path) {
  constexpr std::uint64_t k_most_entries = 65'536;
  constexpr std::size_t k_longest = 4096; // PATH_MAX
  auto mapped = MappedFile::open(path);
  if (!mapped)
    return std::nullopt;
  const std::string_view file = mapped->bytes();
  auto header = value_at<Elf64_Ehdr>(file, 0);
  if (!header || std::memcmp(header->e_ident, ELFMAG, SELFMAG) != 0 ||
      header->e_ident[EI_CLASS] != ELFCLASS64 || header->e_ident[EI_DATA] != ELFDATA2LSB ||
      header->e_phentsize != sizeof(Elf64_Phdr))
    return std::nullopt;
  auto segments = values_at<Elf64_Phdr>(file, header->e_phoff, header->e_phnum);
  auto dynamic = std::ranges::find(segments, PT_DYNAMIC, &Elf64_Phdr::p_type);
  DynamicNames names;
  if (dynamic == segments.end())
    return names;
  auto entries = values_at<Elf64_Dyn>(
      file, dynamic->p_offset,
      std::min<std::uint64_t>(dynamic->p_filesz / sizeof(Elf64_Dyn), k_most_entries));
  auto strings = value_of(entries, DT_STRTAB);
  std::optional<std::uint64_t> strings_at =
      strings ? offset_of(segments, *strings) : std::optional<std::uint64_t>();
  auto text = [&](std::optional<std::uint64_t> at) {
    return at && strings_at ? std::string(text_at(file, *strings_at + *at).substr(0, k_longest))
                            : std::string();
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
    bool known =
        std::ranges::any_of(libraries, [&](const auto& library) { return library.path == path; });
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
