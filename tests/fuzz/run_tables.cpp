// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/run_records.h"
#include "support/example_run.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <numeric>

using namespace ncclprobe;

namespace {

// The tables of a run as the file has them, once it is unpacked. A number of an enumeration is
// looked up by its label.
store::Tables example_tables() {
  store::Tables tables;
  store::add_header(tables, support::example_header(5));
  for (int id = 0; id < 5; ++id)
    store::add_trial(tables, support::example_trial(id));
  for (std::size_t t = 0; t < tables.tables.size(); ++t)
    for (std::size_t c = 0; c < tables.tables[t].columns.size(); ++c) {
      auto& numbers = tables.tables[t].columns[c].numbers;
      numbers.resize(store::run_form().tables[t].columns[c].labels.size());
      std::iota(numbers.begin(), numbers.end(), std::uint8_t{0});
    }
  return tables;
}

void try_to(void (*what)(const store::Tables&), const store::Tables& tables) {
  try {
    what(tables);
  } catch (const std::exception&) {
  }
}

// As a report and a fold do.
void use(const store::Tables& tables) {
  try_to(
      [](const store::Tables& run) {
        (void)store::header_from(run);
        const auto children = store::child_rows(run, store::FileKind::trial);
        store::TrialReader reader(run, children);
        for (std::uint64_t row = 0; row < store::trial_ids(run).size(); ++row)
          (void)reader.read(row);
      },
      tables);
  try_to([](const store::Tables& run) { store::check_values(run, store::FileKind::run, [] {}); },
         tables);
  try_to(
      [](const store::Tables& run) {
        store::Tables whole;
        store::append_trials(whole, run, {1});
      },
      tables);
}

struct Change { // of a value in a column
  std::uint8_t table, column, row, bytes;
  std::uint64_t value;
};

} // namespace

// Changes numbers of a good run: rows of other tables, texts, counts. Nothing but an exception may
// come of it.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static store::Tables tables = example_tables();
  struct Undo {
    std::byte* at;
    std::uint64_t value;
    std::size_t bytes;
  };
  std::vector<Undo> undo;
  for (; size >= sizeof(Change) && undo.size() < 64;
       data += sizeof(Change), size -= sizeof(Change)) {
    Change change;
    std::memcpy(&change, data, sizeof change);
    const std::size_t t = change.table % tables.tables.size();
    if (tables.tables[t].columns.empty())
      continue;
    const std::size_t c = change.column % tables.tables[t].columns.size();
    auto& values = tables.tables[t].columns[c].values;
    const std::size_t bytes = store::bytes_of(store::run_form().tables[t].columns[c].number);
    if (values.size() < bytes)
      continue;
    std::byte* at = values.data() + change.row % (values.size() / bytes) * bytes;
    Undo before{at, 0, bytes};
    std::memcpy(&before.value, at, bytes);
    undo.push_back(before);
    std::memcpy(at, &change.value, bytes);
  }
  use(tables);
  for (auto one = undo.rbegin(); one != undo.rend(); ++one)
    std::memcpy(one->at, &one->value, one->bytes);
  return 0;
}
