// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/binary/fat_binary.h"

#include "base/value_at.h"

#include <algorithm>
#include <cstring>

namespace ncclprobe::analysis {
namespace {

constexpr std::uint32_t k_magic = 0xBA55ED50;
constexpr std::uint16_t k_version = 1;
constexpr std::size_t k_alignment = 8;

struct ContainerHeader {
  std::uint32_t magic;
  std::uint16_t version;
  std::uint16_t header_bytes;
  std::uint64_t content_bytes;
};
static_assert(sizeof(ContainerHeader) == 16);

// The first 64 bytes of an entry's header.
struct EntryHeader {
  std::uint16_t kind;
  std::uint16_t version;
  std::uint32_t header_bytes;
  std::uint64_t content_bytes; // with padding
  std::uint32_t compressed_bytes;
  std::uint32_t further_header_at;
  std::uint16_t minor; // of PTX: of its language
  std::uint16_t major;
  std::uint32_t architecture; // 90 for sm_90
  std::uint32_t name_at;
  std::uint32_t name_bytes;
  std::uint64_t flags;
  std::uint64_t reserved;
  std::uint64_t uncompressed_bytes;
};
static_assert(sizeof(EntryHeader) == 64);

enum Kind : std::uint16_t { k_ptx = 1, k_cubin = 2, k_link_time = 8 };

// As nvcc 13.0 sets them: for sm_90a and sm_100f.
constexpr std::uint64_t k_flag_exact = 0x100000;
constexpr std::uint64_t k_flag_family = 0x200000;

void add_problem(DeviceCode& code, const char* text) {
  bool known = std::ranges::find(code.problems, text) != code.problems.end();
  if (!known && code.problems.size() < k_most_problems)
    code.problems.emplace_back(text);
}

knowledge::CodeTarget target_of(const EntryHeader& entry) {
  knowledge::CodeTarget target;
  target.capability = {static_cast<int>(entry.architecture / 10),
                       static_cast<int>(entry.architecture % 10)};
  if ((entry.flags & k_flag_exact) != 0)
    target.reach = knowledge::Reach::exact;
  else if ((entry.flags & k_flag_family) != 0)
    target.reach = knowledge::Reach::family;
  return target;
}

void count(CodeCount& into, const EntryHeader& entry) {
  ++into.entries;
  into.bytes += entry.content_bytes;
}

void note_entry(const EntryHeader& entry, DeviceCode& code) {
  // The oldest GPU that ever ran CUDA is 1.0.
  if (entry.architecture < 10 || entry.architecture > 999)
    return add_problem(code, "an entry of a fat binary names an impossible GPU");
  knowledge::CodeTarget target = target_of(entry);
  if (entry.kind == k_cubin)
    count(code.cubins[target], entry);
  else if (entry.kind == k_link_time)
    count(code.link_time[target], entry);
  else if (entry.kind == k_ptx) {
    PtxCode& ptx = code.ptx[target];
    count(ptx.count, entry);
    ptx.newest_isa = std::max(ptx.newest_isa, knowledge::VersionNumber{{entry.major, entry.minor}});
  }
}

// The container at the start of the bytes; returns the number of bytes it takes, 0 if there is
// none.
std::size_t read_container(std::string_view bytes, DeviceCode& code) {
  if (!is_fat_binary(bytes))
    return 0;
  const auto header = *base::value_at<ContainerHeader>(bytes, 0);
  std::string_view content = bytes.substr(header.header_bytes);
  if (content.size() < header.content_bytes)
    add_problem(code, "a fat binary extends beyond its section (truncated?)");
  content = content.substr(0, header.content_bytes);
  ++code.containers;
  std::size_t at = 0;
  while (const auto entry = base::value_at<EntryHeader>(content, at)) {
    std::size_t left = content.size() - at;
    if (entry->header_bytes < sizeof(EntryHeader) || entry->header_bytes > left ||
        entry->content_bytes > left - entry->header_bytes) {
      add_problem(code, "a fat binary has an entry that extends beyond it");
      break;
    }
    note_entry(*entry, code);
    at += entry->header_bytes + entry->content_bytes;
  }
  return header.header_bytes + content.size();
}

} // namespace

bool is_fat_binary(std::string_view bytes) {
  const auto header = base::value_at<ContainerHeader>(bytes, 0);
  return header && header->magic == k_magic && header->version == k_version &&
         header->header_bytes == sizeof(ContainerHeader);
}

void read_fat_binaries(std::string_view section, DeviceCode& code) {
  std::size_t at = 0;
  while (at < section.size()) {
    std::size_t taken = read_container(section.substr(at), code);
    if (taken == 0) {
      std::uint64_t word = 0;
      std::memcpy(&word, section.data() + at, std::min(sizeof(word), section.size() - at));
      if (word != 0)
        break; // no padding: find the rest by its magic number
      taken = k_alignment;
    }
    at = std::min((at + taken + k_alignment - 1) / k_alignment * k_alignment, section.size());
  }
  if (at < section.size()) {
    add_problem(code, "a section of fat binaries has other data between them");
    find_fat_binaries(section.substr(at), code);
  }
}

void find_fat_binaries(std::string_view data, DeviceCode& code) {
  std::size_t at = 0;
  while (at < data.size()) {
    const void* found = ::memmem(data.data() + at, data.size() - at, &k_magic, sizeof(k_magic));
    if (found == nullptr)
      return;
    at = static_cast<std::size_t>(static_cast<const char*>(found) - data.data());
    std::size_t taken = read_container(data.substr(at), code);
    at += std::max<std::size_t>(taken, 1);
  }
}

} // namespace ncclprobe::analysis
