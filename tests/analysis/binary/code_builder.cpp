// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/code_builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <elf.h>

namespace ncclprobe::analysis {
namespace {

template <typename T>
void put(std::string& bytes, T value) {
  bytes.append(reinterpret_cast<const char*>(&value), sizeof(value));
}

} // namespace

std::string code_entry(CodeKind kind, std::uint32_t architecture, std::uint64_t flags,
                       std::size_t content_bytes) {
  std::string bytes;
  put(bytes, static_cast<std::uint16_t>(kind));
  put<std::uint16_t>(bytes, 0x101);
  put<std::uint32_t>(bytes, 64);
  put<std::uint64_t>(bytes, content_bytes);
  put<std::uint64_t>(bytes, 0);
  put<std::uint16_t>(bytes, kind == CodeKind::ptx ? 0 : 8);
  put<std::uint16_t>(bytes, kind == CodeKind::ptx ? 9 : 1);
  put<std::uint32_t>(bytes, architecture);
  put<std::uint64_t>(bytes, 0);
  put<std::uint64_t>(bytes, flags | 0x11);
  put<std::uint64_t>(bytes, 0);
  put<std::uint64_t>(bytes, 0);
  return bytes + std::string(content_bytes, 'c');
}

std::string fat_binary(const std::string& entries) {
  std::string bytes;
  put<std::uint32_t>(bytes, 0xBA55ED50);
  put<std::uint16_t>(bytes, 1);
  put<std::uint16_t>(bytes, 16);
  put<std::uint64_t>(bytes, entries.size());
  return bytes + entries;
}

std::string elf_file(const std::vector<std::pair<std::string, std::string>>& sections) {
  std::string names(1, '\0'), content;
  std::vector<Elf64_Shdr> headers(1);
  auto add = [&](const std::string& name, const std::string& bytes, std::uint32_t type) {
    while ((sizeof(Elf64_Ehdr) + content.size()) % 8 != 0)
      content += '\0';
    Elf64_Shdr header{};
    header.sh_name = static_cast<std::uint32_t>(names.size());
    header.sh_type = type;
    header.sh_flags = SHF_ALLOC;
    header.sh_offset = sizeof(Elf64_Ehdr) + content.size();
    header.sh_size = bytes.size();
    headers.push_back(header);
    names += name + '\0';
    content += bytes;
  };
  for (const auto& [name, bytes] : sections)
    add(name, bytes, SHT_PROGBITS);
  std::size_t names_at = names.size();
  std::string with_own_name = names + ".shstrtab" + '\0';
  add(".shstrtab", with_own_name, SHT_STRTAB);
  headers.back().sh_name = static_cast<std::uint32_t>(names_at);

  Elf64_Ehdr header{};
  std::copy_n(ELFMAG, SELFMAG, header.e_ident);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_type = ET_DYN;
  header.e_machine = EM_X86_64;
  header.e_shoff = sizeof(header) + content.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<std::uint16_t>(headers.size());
  header.e_shstrndx = static_cast<std::uint16_t>(headers.size() - 1);
  std::string file;
  put(file, header);
  file += content;
  for (const Elf64_Shdr& one : headers)
    put(file, one);
  return file;
}

std::string archive_file(const std::vector<std::string>& members) {
  std::string file = "!<arch>\n";
  for (const std::string& one : members) {
    file += fmt::format("{:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", "a.o/", 0, 0, 0, 644, one.size());
    file += one;
    if (one.size() % 2 != 0)
      file += '\n';
  }
  return file;
}

} // namespace ncclprobe::analysis
