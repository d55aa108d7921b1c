// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "wire/mark_columns.h"

namespace ncclprobe::wire {

using model::Mark;

namespace {

constexpr std::int32_t Mark::*k_small_columns[] = {&Mark::rank, &Mark::batch, &Mark::iteration,
                                                   &Mark::operation};
constexpr std::size_t k_mark_bytes = 4 * sizeof(std::int32_t) + sizeof(std::int64_t);

} // namespace

void pack_marks(Packer& packer, const std::vector<Mark>& marks) {
  packer.number<std::uint64_t>(marks.size());
  for (auto column : k_small_columns)
    for (const Mark& mark : marks)
      packer.number(mark.*column);
  for (const Mark& mark : marks)
    packer.number(mark.at_ns);
}

std::vector<Mark> unpack_marks(Unpacker& unpacker) {
  std::vector<Mark> marks(unpacker.count(k_mark_bytes));
  for (auto column : k_small_columns)
    for (Mark& mark : marks)
      mark.*column = unpacker.number<std::int32_t>();
  for (Mark& mark : marks)
    mark.at_ns = unpacker.number<std::int64_t>();
  return marks;
}

} // namespace ncclprobe::wire
