// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "wire/packing.h"

namespace ncclprobe::wire {

void Packer::texts_by_rank(const std::map<int, std::string>& values) {
  number<std::uint64_t>(values.size());
  for (const auto& [rank, value] : values) {
    number<std::int32_t>(rank);
    text(value);
  }
}

std::string_view Unpacker::take(std::uint64_t size) {
  if (size > rest_.size())
    base::raise(base::Errc::protocol, "{} bytes are announced, {} are there", size, rest_.size());
  std::string_view taken = rest_.substr(0, size);
  rest_.remove_prefix(size);
  return taken;
}

std::size_t Unpacker::count(std::size_t element_bytes) {
  auto announced = number<std::uint64_t>();
  if (announced > rest_.size() / element_bytes)
    base::raise(base::Errc::protocol, "{} elements are announced, {} bytes are there", announced,
                rest_.size());
  return announced;
}

std::vector<int> Unpacker::numbers() {
  std::vector<int> values(count(sizeof(std::int32_t)));
  for (int& value : values)
    value = number<std::int32_t>();
  return values;
}

std::map<int, std::string> Unpacker::texts_by_rank() {
  std::map<int, std::string> values;
  for (std::size_t left = count(sizeof(std::int32_t) + sizeof(std::uint64_t)); left > 0; --left) {
    int rank = number<std::int32_t>();
    values[rank] = text();
  }
  return values;
}

void Unpacker::expect_end() const {
  if (!rest_.empty())
    base::raise(base::Errc::protocol, "{} bytes too many", rest_.size());
}

} // namespace ncclprobe::wire
