// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/memory.h"

#include "base/readable_bytes.h"
#include "base/resource_limits.h"
#include "host/free_memory.h"
#include "host/pattern_data.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace ncclprobe::host {

namespace {

constexpr std::size_t k_page_bytes = 4096;

// Memory is touched in pieces of this size; free memory is checked before each.
constexpr std::uint64_t k_touch_bytes = std::uint64_t{64} << 20;

void require_free(std::uint64_t asked_bytes, std::uint64_t missing_bytes) {
  std::uint64_t free_bytes = free_memory_bytes();
  if (missing_bytes > free_bytes)
    raise(Errc::unavailable, "a buffer of {} does not fit into the remaining memory ({})",
          base::readable_bytes(asked_bytes), base::readable_bytes(free_bytes));
}

std::uint64_t bytes_of(model::DataType type, std::uint64_t count) {
  std::uint64_t size = size_bytes(type);
  return count > std::numeric_limits<std::uint64_t>::max() / size
             ? std::numeric_limits<std::uint64_t>::max()
             : count * size;
}

} // namespace

// Linux promises memory that it does not have and kills the process that uses it. So check first,
// then touch the memory piece by piece: only touched memory is missing in the next check, by this
// or another rank.
HostBuffer::HostBuffer(std::uint64_t bytes) : bytes_(bytes) {
  require_free(bytes, bytes);
  void* memory = nullptr;
  if (posix_memalign(&memory, k_page_bytes, std::max<std::uint64_t>(bytes, 1)) != 0)
    throw Exception({Errc::unavailable,
                     fmt::format("the system has no {} for a buffer", base::readable_bytes(bytes)),
                     base::memory_limit()});
  memory_ = std::shared_ptr<std::byte>(static_cast<std::byte*>(memory), std::free);
  for (std::uint64_t done = 0; done < bytes; done += k_touch_bytes) {
    if (done > 0)
      require_free(bytes, bytes - done);
    std::memset(memory_.get() + done, model::k_poison_byte, std::min(k_touch_bytes, bytes - done));
  }
}

void HostBuffer::poison_bytes(std::uint64_t offset, std::uint64_t bytes) {
  std::memset(hold(offset, bytes).get(), model::k_poison_byte, bytes);
}

backend::Mismatch HostBuffer::compare_poison(std::uint64_t offset, std::uint64_t bytes) {
  return host::compare_poison(hold(offset, bytes).get(), bytes);
}

void HostBuffer::fill(std::uint64_t offset, model::DataType type, const model::Pattern& pattern,
                      int rank, std::uint64_t count) {
  fill_pattern(hold(offset, bytes_of(type, count)).get(), type, pattern, rank, count);
}

backend::Mismatch HostBuffer::compare(std::uint64_t offset, model::DataType type,
                                      const model::Pattern& pattern,
                                      const model::Expectation& expected) {
  return compare_pattern(hold(offset, bytes_of(type, expected.count)).get(), type, pattern,
                         expected);
}

void HostBuffer::read(std::uint64_t offset, std::span<std::byte> into) {
  std::memcpy(into.data(), hold(offset, into.size()).get(), into.size());
}

void HostBuffer::write(std::uint64_t offset, std::span<const std::byte> from) {
  std::memcpy(hold(offset, from.size()).get(), from.data(), from.size());
}

std::shared_ptr<std::byte> HostBuffer::hold(std::uint64_t offset, std::uint64_t bytes) const {
  if (offset > bytes_ || bytes > bytes_ - offset)
    raise(Errc::invalid_argument, "{} bytes at {} are outside a buffer of {} bytes", bytes, offset,
          bytes_);
  return {memory_, memory_.get() + offset};
}

} // namespace ncclprobe::host
