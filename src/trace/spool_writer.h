// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "trace/ledger_rows.h"
#include "trace/spool_format.h"

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <unordered_map>
#include <vector>

namespace ncclprobe::trace {

// Appends rows to a spool. Any thread may call anything. Pass many rows at a time, because each
// call is a write(2). Needs only the C++ runtime, because the NCCL plugin uses it in programs that
// are not ours: it throws nothing, and counts what could not be written.
class SpoolWriter {
public:
  SpoolWriter() = default;
  ~SpoolWriter();
  SpoolWriter(const SpoolWriter&) = delete;
  SpoolWriter& operator=(const SpoolWriter&) = delete;

  // Creates the file, which must not exist. False, with errno, if it cannot. `host` replaces this
  // host's name.
  bool open(const std::string& path, std::string_view host = {});
  bool is_open() const { return fd_ >= 0; }

  template <typename Row>
  void append(int rank, std::span<const Row> rows) {
    static_assert(std::is_trivially_copyable_v<Row>);
    append_block(Row::k_table, sizeof(Row), rank, rows.data(), rows.size());
  }
  template <typename Row>
  void append(int rank, const Row& row) {
    append(rank, std::span<const Row>(&row, 1));
  }
  // The rows of several tables, which are then empty.
  template <typename... Row>
  void take(int rank, std::tuple<std::vector<Row>...>& tables) {
    (append<Row>(rank, std::get<std::vector<Row>>(tables)), ...);
    (std::get<std::vector<Row>>(tables).clear(), ...);
  }
  // The origin of the rank's rows, or data missing from them (FactRow).
  void note(int rank, std::string_view name, std::string_view value) {
    append(rank, FactRow{intern(name), intern(value)});
  }
  // The number of a text; writes the text if it is new.
  TextId intern(std::string_view text);

  std::uint64_t rows_lost() const { return rows_lost_; } // to a full disk and the like
  int error() const { return error_; }                   // errno of the first loss; 0: none
  std::uint64_t bytes_written() const { return bytes_; }

private:
  void append_block(Table table, std::size_t row_bytes, int rank, const void* rows,
                    std::size_t count);
  void write_block(Table table, std::size_t row_bytes, int rank, const void* rows,
                   std::size_t count); // mutex_ is held

  std::mutex mutex_;
  int fd_ = -1;
  std::unordered_map<std::string, std::uint32_t> texts_;
  std::atomic<std::uint64_t> rows_lost_{0};
  std::atomic<std::uint64_t> bytes_{0};
  std::atomic<int> error_{0};
};

} // namespace ncclprobe::trace
