// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "store/tables.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

// Reads records and their lists from the rows of tables. Included only by store/*.cpp.
namespace ncclprobe::store {

// Called for each record of this form as soon as it and its lists are read. It may take them away.
struct Watch {
  const RecordForm* form = nullptr;
  std::function<void(std::size_t number, void* record)> take; // number: in its list
};

// One thread at a time. The tables and rows of children must outlive it.
class RecordReader {
public:
  RecordReader(const Tables& tables, const ChildRows& children);

  // Fills contiguous records, the first from row `first_row`. They and everything they hold may
  // take `most_bytes`. Throws Exception.
  void read(const RecordForm& form, std::size_t table, std::uint64_t first_row, std::size_t count,
            void* records, std::uint64_t most_bytes, const Watch& watch = {});

private:
  // Throws unless each of the rows has a row in the table of one alternative.
  void check_alternatives(const RecordForm& form, std::size_t table, std::uint64_t first_row,
                          std::size_t count) const;
  void fill(const RecordForm& form, std::size_t table, std::uint64_t first_row, std::size_t count,
            void* records);

  const Tables* tables_;
  const ChildRows* children_;
  base::Fd fd_;
  std::vector<std::vector<ColumnReader>> columns_; // by table
  Loading loading_;
  const Watch* watch_ = nullptr; // of the present read()
  std::vector<std::byte> numbers_;
};

} // namespace ncclprobe::store
