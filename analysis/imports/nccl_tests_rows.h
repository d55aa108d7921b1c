// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "analysis/imports/imported_process.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

// What the text and the JSON of nccl-tests have in common. Sources: nccl-tests, src/common.cu and
// src/util.cu, releases 2.0 (2019) to 2.19.6 (2026).
namespace ncclprobe::analysis::imports {

// "all_reduce_perf", "/opt/alltoall_perf_mpi" -> the collective.
std::optional<model::Collective> collective_of_program(std::string_view program);

// "float", "bfloat16", "char" (before 2.13), ...
std::optional<model::DataType> nccl_tests_type(std::string_view name);

// "sum", "mulsum", "none" (sum: the collective has no reduction), ...
std::optional<model::ReduceOp> nccl_tests_op(std::string_view name);

// "22803" -> "2.28.3".
std::string nccl_version_of_code(int code);

// How a launch of nccl-tests measured.
struct NcclTestsSetup {
  std::optional<int> iterations;        // -n
  int operations_per_iteration = 1;     // -m
  int graph_launches = 0;               // -G; 0: no graph
  int warmups = 0;                      // -w
  std::optional<int> checks;            // -c: how often the data is checked, after the timing
  std::uint64_t unaligned_elements = 0; // -u
  bool blocking = false;                // -z
  bool cpu_time = false;                // -C
  int iterations_per_sample() const;
};

// A row of the table, one of its two halves.
struct NcclTestsRow {
  std::uint64_t bytes = 0;
  model::DataType type = model::DataType::f32;
  std::string op;   // as printed; empty: the table has no such column
  std::string root; // the same
  model::Placement placement = model::Placement::out_of_place;
  double time_us = 0;
  double busbw_gb_per_s = 0;
  std::optional<std::uint64_t> wrong; // elements; absent: not checked
  std::string why_unchecked;          // if absent
};

// The cells of one launch, from its rows in their order. `named`: what the program's name or the
// user says; otherwise the collective whose bandwidth the rows fit, if there is only one. Adds to
// the remarks of `process`, whose ranks must be known. Errors: invalid_argument if the collective
// is unknown or does not fit the rows, or if the times are not those of the operation.
Result<void> add_rows(ImportedProcess& process, const std::vector<NcclTestsRow>& rows,
                      const NcclTestsSetup& setup, std::optional<model::Collective> named);

// Fills in ranks without a list of them. Errors: invalid_argument if it is not known how many there
// are, if they are split into groups, or if the numbers do not count from 0.
Result<void> check_ranks(ImportedProcess& process, const ImportHints& hints);

} // namespace ncclprobe::analysis::imports
