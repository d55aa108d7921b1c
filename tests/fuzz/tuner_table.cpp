// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "tuning/hit_counts.h"
#include "tuning/lookup.h"
#include "tuning/nvidia_csv.h"
#include "tuning/table.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace ncclprobe::tuning;

// What was read must come back as it was, and each row must decide about its own sizes.
void use(const Table& table) {
  const auto again = parse_table(to_text(table), "again");
  if (!again || !(*again == table))
    std::abort();
  for (std::size_t i = 0; i < table.rows.size() && i < 100; ++i) {
    const Row& row = table.rows[i];
    const Lookup lookup(table, {row.ranks, row.nodes, row.domains});
    if (lookup.row_of(*tuned_number(row.collective), row.max_bytes) < 0)
      std::abort();
  }
}

} // namespace

// The first byte chooses the reader.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  if (data[0] % 3 == 0) {
    if (const auto table = parse_table(text, "fuzz")) {
      use(*table);
      (void)to_nvidia_csv(*table);
    }
  } else if (data[0] % 3 == 1) {
    if (const auto from = from_nvidia_csv(text, "fuzz"))
      use(from->table);
  } else if (const auto hits = parse_hit_counts(text, "fuzz")) {
    const auto again = parse_hit_counts(to_text(*hits), "again");
    if (!again || !(*again == *hits))
      std::abort();
  }
  return 0;
}
