// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "wire/packing.h"

#include "base/secrets.h"

#include <algorithm>
#include <cstring>

namespace ncclprobe::wire {

// Maps small numbers of either sign to small natural numbers.
void Packer::integer(std::int64_t value) {
  natural((static_cast<std::uint64_t>(value) << 1) ^ static_cast<std::uint64_t>(value >> 63));
}

// Seven bits per byte, the lowest first; the eighth bit says that more follow.
void Packer::natural(std::uint64_t value) {
  for (; value >= 0x80; value >>= 7)
    bytes_ += static_cast<char>(value | 0x80);
  bytes_ += static_cast<char>(value);
}

void Packer::real(double value) {
  bytes_.append(reinterpret_cast<const char*>(&value), sizeof value);
}

void Packer::text(std::string_view value) {
  natural(value.size());
  bytes_.append(value);
}

std::int64_t Unpacker::integer() {
  const std::uint64_t packed = natural();
  return static_cast<std::int64_t>((packed >> 1) ^ (~(packed & 1) + 1));
}

std::uint64_t Unpacker::natural() {
  std::uint64_t value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    const auto byte = static_cast<unsigned char>(take(1).front());
    value |= std::uint64_t{byte & 0x7FU} << shift;
    if (byte < 0x80)
      return value;
  }
  raise(Errc::protocol, "a number is too long");
}

std::string Unpacker::text() {
  return base::without_secrets(std::string(take(natural())), secrets_);
}

double Unpacker::real() {
  double value;
  std::memcpy(&value, take(sizeof value).data(), sizeof value);
  return value;
}

std::uint64_t Unpacker::choice(std::span<const base::EnumName> names) {
  const std::uint64_t number = natural();
  if (std::ranges::find(names, number, &base::EnumName::number) == names.end())
    raise(Errc::protocol, "{} is not the number of a name such as '{}'", number,
          names.front().name);
  return number;
}

// Every element takes at least a byte.
std::size_t Unpacker::list() {
  const std::uint64_t size = natural();
  if (size > rest_.size())
    raise(Errc::protocol, "{} elements are announced, but only {} bytes follow", size,
          rest_.size());
  return size;
}

std::string_view Unpacker::take(std::uint64_t size) {
  if (size > rest_.size())
    raise(Errc::protocol, "{} bytes are announced, but only {} follow", size, rest_.size());
  std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

void Unpacker::expect_end() const {
  if (!rest_.empty())
    raise(Errc::protocol, "{} bytes too many", rest_.size());
}

} // namespace ncclprobe::wire
