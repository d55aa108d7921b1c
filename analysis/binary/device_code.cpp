// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/device_code.h"

#include "analysis/binary/fat_binary.h"
#include "base/value_at.h"

#include <algorithm>
#include <charconv>
#include <elf.h>

namespace ncclprobe::analysis {
namespace {

constexpr std::string_view k_archive_magic = "!<arch>\n";
constexpr std::string_view k_thin_archive_magic = "!<thin>\n";
constexpr std::size_t k_member_header = 60;
constexpr std::size_t k_most_bytes = std::size_t{16} << 30; // the largest libraries have two

// nvcc's machine type; such a file is a single cubin.
constexpr std::uint16_t k_machine_cuda = 190;

void add_problem(DeviceCode& code, std::string text) {
  if (code.problems.size() < k_most_problems)
    code.problems.push_back(std::move(text));
}

// Of a section that lies within the file; else the part of it that does.
std::string_view content_of(std::string_view file, const Elf64_Shdr& section) {
  if (section.sh_type == SHT_NOBITS || section.sh_offset >= file.size())
    return {};
  return file.substr(section.sh_offset, section.sh_size);
}

// NCCL prints this about itself when it starts: "NCCL version 2.28.9+cuda13.0".
void find_nccl(std::string_view content, DeviceCode& code) {
  constexpr std::string_view k_begin = "NCCL version ";
  constexpr std::string_view k_cuda = "+cuda";
  constexpr std::string_view k_version = "0123456789.";
  auto version_at = [&](std::size_t at) {
    return content.substr(at, content.find_first_not_of(k_version, at) - at);
  };
  for (std::size_t at = content.find(k_begin); at != std::string_view::npos;
       at = content.find(k_begin, at + 1)) {
    std::string_view version = version_at(at + k_begin.size());
    std::size_t behind = at + k_begin.size() + version.size();
    if (version.empty() || content.substr(behind, k_cuda.size()) != k_cuda)
      continue;
    code.nccl = version;
    code.nccl_cuda = version_at(behind + k_cuda.size());
    return;
  }
}

std::string kind_of(const Elf64_Ehdr& header) {
  switch (header.e_type) {
  case ET_REL:
    return "ELF object file";
  case ET_EXEC:
    return "ELF program";
  case ET_DYN:
    return "ELF shared object or program";
  default:
    return "ELF file";
  }
}

Result<void> read_elf(std::string_view file, DeviceCode& code) {
  const auto read = base::value_at<Elf64_Ehdr>(file, 0);
  if (!read)
    return fail(Errc::invalid_argument, "an ELF file that ends within its header");
  const Elf64_Ehdr& header = *read;
  if (header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_ident[EI_DATA] != ELFDATA2LSB)
    return fail(Errc::invalid_argument, "an ELF file, but not of 64 bits, little endian");
  if (header.e_machine == k_machine_cuda)
    return fail(Errc::invalid_argument,
                "a single cubin; give the program or library that contains it");
  code.format = kind_of(header);
  if (header.e_shoff == 0 || header.e_shentsize != sizeof(Elf64_Shdr))
    return fail(Errc::invalid_argument, "an ELF file without a table of sections");

  const auto first = base::value_at<Elf64_Shdr>(file, header.e_shoff);
  if (!first)
    return fail(Errc::invalid_argument,
                "an ELF file that ends before its table of sections (truncated?)");
  // Above 65279 sections, the first section holds count and index.
  std::uint64_t count = header.e_shnum == 0 ? first->sh_size : header.e_shnum;
  std::uint64_t names_index = header.e_shstrndx == SHN_XINDEX ? first->sh_link : header.e_shstrndx;
  count = std::min<std::uint64_t>(count, (file.size() - header.e_shoff) / sizeof(Elf64_Shdr));
  auto section_at = [&](std::uint64_t index) {
    return base::value_at<Elf64_Shdr>(file, header.e_shoff + index * sizeof(Elf64_Shdr))
        .value_or(Elf64_Shdr{});
  };
  std::string_view names =
      names_index < count ? content_of(file, section_at(names_index)) : std::string_view{};
  for (std::uint64_t i = 0; i < count; ++i) {
    Elf64_Shdr section = section_at(i);
    std::string_view content = content_of(file, section);
    if (section.sh_type != SHT_NOBITS && content.size() < section.sh_size)
      add_problem(code, fmt::format("section {} extends beyond the file (truncated?)", i));
    std::string_view name = base::text_at(names, section.sh_name);
    if (name.starts_with(".rodata") && code.nccl.empty())
      find_nccl(content, code);
    if (name == ".nv_fatbin" || name == "__nv_relfatbin")
      read_fat_binaries(content, code);
    else if (section.sh_type == SHT_PROGBITS && (section.sh_flags & SHF_EXECINSTR) == 0 &&
             !name.starts_with(".debug"))
      find_fat_binaries(content, code);
  }
  return {};
}

Result<void> read_archive(std::string_view file, DeviceCode& code) {
  std::size_t members = 0;
  std::size_t at = k_archive_magic.size();
  while (file.size() - at >= k_member_header) {
    std::string_view header = file.substr(at, k_member_header);
    std::string_view digits = header.substr(48, 10);
    std::uint64_t size = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), size);
    at += k_member_header;
    if (error != std::errc{} || size > file.size() - at) {
      add_problem(code, fmt::format("the archive is damaged or truncated after byte {}", at));
      break;
    }
    std::string_view member = file.substr(at, size);
    if (member.starts_with(ELFMAG)) {
      if (auto read = read_elf(member, code); !read)
        add_problem(code, fmt::format("member at byte {}: {}", at, read.error().message));
      ++members;
    }
    at = std::min<std::size_t>(at + size + size % 2, file.size()); // members begin at even bytes
  }
  code.format = fmt::format("archive of {} ELF files", members);
  return {};
}

template <typename Map>
std::vector<knowledge::CodeTarget> keys(const Map& map) {
  std::vector<knowledge::CodeTarget> all;
  for (const auto& [target, count] : map)
    all.push_back(target);
  return all;
}

} // namespace

std::vector<knowledge::CodeTarget> DeviceCode::cubin_targets() const {
  return keys(cubins);
}

std::vector<knowledge::CodeTarget> DeviceCode::ptx_targets() const {
  return keys(ptx);
}

Result<DeviceCode> read_device_code(std::string_view file) {
  DeviceCode code;
  if (file.size() > k_most_bytes)
    return fail(Errc::invalid_argument, "it has more than {} GiB, which is the limit",
                k_most_bytes >> 30);
  if (file.starts_with(ELFMAG)) {
    NCCLPROBE_TRY(read_elf(file, code));
  } else if (file.starts_with(k_archive_magic)) {
    NCCLPROBE_TRY(read_archive(file, code));
  } else if (is_fat_binary(file)) {
    code.format = "fat binary";
    read_fat_binaries(file, code);
  } else if (file.starts_with(k_thin_archive_magic)) {
    return fail(Errc::invalid_argument,
                "a thin archive, which contains no code; give the object files");
  } else
    return fail(Errc::invalid_argument, "neither an ELF file, nor an archive, nor a fat binary");
  return code;
}

} // namespace ncclprobe::analysis
