// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "model/cell_label.h"
#include "workload/plan.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ncclprobe::workload {

struct P2pRequest {
  std::string backend;
  std::vector<int> host_of_rank;
  model::P2pMode mode = model::P2pMode::direct;
  std::vector<model::P2pMethod> methods;       // empty: default_p2p_methods()
  std::vector<model::P2pDirection> directions; // of uni, bi, all; empty: all of them
  std::vector<std::uint64_t> sizes;            // of bandwidth cells; empty: a size for each method
  std::optional<std::uint64_t> memory_bytes;   // free on the fullest device; limits those sizes
  int repeats = 1;
  std::uint64_t seed = 0;
  std::vector<model::Setting> libraries;
  std::int64_t cell_deadline_ns = 30'000'000'000;
  std::int64_t startup_deadline_ns = 180'000'000'000;
};

// nvidia: everything but pageable memory; messages only if there are pairs on different hosts.
// host: messages, because processes cannot reach each other's memory in another way.
std::vector<model::P2pMethod> default_p2p_methods(const P2pRequest& request);

// `repeats` trials of the same cells: all pairs, methods and directions. Pairs on different hosts
// are measured only with messages; pairs at the same positions on their hosts are measured at once.
// Methods that the backend or the mode lacks are left out, with a note. Errors: invalid_argument if
// nothing is left (a single rank, no method).
Result<Plan> make_p2p_plan(const P2pRequest& request);

} // namespace ncclprobe::workload
