// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <concepts>
#include <cstdint>
#include <string_view>

// Hashes that are the same in every version and on every machine, because run files, caches and
// traces contain them. They do not resist deliberate collisions.
namespace ncclprobe::base {

// FNV-1a of 64 bits.
class Hash {
public:
  // One step of the hash: a byte in the standard, or a whole word, which is eight times faster.
  Hash& step(std::uint64_t unit) {
    value_ = (value_ ^ unit) * 0x100000001b3;
    return *this;
  }
  Hash& add(std::string_view text) {
    for (unsigned char byte : text)
      step(byte);
    return *this;
  }
  // The eight bytes of the number, lowest first.
  Hash& add(std::integral auto number) {
    auto rest = static_cast<std::uint64_t>(number);
    for (int i = 0; i < 8; ++i, rest >>= 8)
      step(rest & 0xff);
    return *this;
  }
  std::uint64_t value() const { return value_; }

private:
  std::uint64_t value_ = 0xcbf29ce484222325;
};

// splitmix64: turns close numbers into numbers that look random.
constexpr std::uint64_t mixed(std::uint64_t value) {
  value += 0x9e3779b97f4a7c15;
  value = (value ^ (value >> 30)) * 0xbf58476d1ce4e5b9;
  value = (value ^ (value >> 27)) * 0x94d049bb133111eb;
  return value ^ (value >> 31);
}

} // namespace ncclprobe::base
