// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

// Files with GPU code, made by hand.
namespace ncclprobe::analysis {

enum class CodeKind : std::uint16_t { ptx = 1, cubin = 2, link_time = 8 };

inline constexpr std::uint64_t k_exact_code = 0x100000;
inline constexpr std::uint64_t k_family_code = 0x200000;

// An entry of a fat binary. PTX is of language 9.0.
std::string code_entry(CodeKind kind, std::uint32_t architecture, std::uint64_t flags = 0,
                       std::size_t content_bytes = 40);
std::string fat_binary(const std::string& entries);
// An ELF file with these sections, in this order.
std::string elf_file(const std::vector<std::pair<std::string, std::string>>& sections);
std::string archive_file(const std::vector<std::string>& members);

} // namespace ncclprobe::analysis
