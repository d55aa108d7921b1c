// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/spool_reader.h"

#include "base/mapped_file.h"
#include "store/strings.h"
#include "store/trace_format.h"

#include <cstring>
#include <filesystem>
#include <map>
#include <set>
#include <vector>

namespace ncclprobe::store {

// Several spools together: where the rows of each rank and table lie, with one numbering of all
// texts. The files are mapped, not read as a whole.
class SpoolSet {
public:
  // Errors: as read_spool()'s. A damaged spool is used up to the damage, and `remarks` says so.
  Result<void> add(const std::filesystem::path& path, std::vector<std::string>& remarks);

  std::vector<int> ranks() const;
  TraceOrigin origin(int rank) const;
  const Strings& strings() const { return strings_; }

  std::uint64_t rows(int rank, trace::Table table) const;
  // Gives back the memory of what was read of its spools.
  void release(int rank) const;
  // Calls take(rows) for all blocks of a rank's table as they were written, with texts renumbered.
  template <typename Row, typename Take>
  void for_each_block(int rank, Take take) const {
    auto found = blocks_.find({rank, Row::k_table});
    if (found == blocks_.end())
      return;
    std::vector<Row> rows;
    for (const Block& block : found->second) {
      rows.resize(block.rows);
      std::memcpy(static_cast<void*>(rows.data()), block.bytes, block.rows * sizeof(Row));
      const std::vector<std::uint32_t>& texts = spools_[block.spool].texts;
      for (Row& row : rows)
        for_each_text_id(row, [&](trace::TextId& text) {
          text.id = text.id < texts.size() ? texts[text.id] : 0; // the text itself was not written
        });
      take(std::span<const Row>(rows));
    }
  }

private:
  struct Spool {
    TraceOrigin origin;
    base::MappedFile file;
    std::vector<std::uint32_t> texts{0}; // our number of each of its texts
    std::set<int> ranks;
  };
  struct Block {
    const char* bytes;
    std::uint32_t rows;
    std::size_t spool;
  };
  std::vector<Spool> spools_;
  std::map<std::pair<int, trace::Table>, std::vector<Block>> blocks_;
  Strings strings_;
};

} // namespace ncclprobe::store
