// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backend/contract_world.h"

#include <memory>
#include <string>
#include <vector>

namespace ncclprobe::contract {

inline constexpr std::uint64_t k_contract_seed = 41;

// A collective to be tried.
struct Case {
  model::Collective collective = model::Collective::all_reduce;
  model::DataType type = model::DataType::f32;
  model::ReduceOp op = model::ReduceOp::sum;
  model::Placement placement = model::Placement::out_of_place;
  std::uint64_t count = 1007;
  int root = 0;

  std::string in_words() const;
};

// Runs it on all ranks of the world, with separate buffers: inputs are filled, everything else is
// poisoned.
class CaseRun {
public:
  CaseRun(World&, const Case&);

  void enqueue(int stream = 0);
  // Fails the test unless every rank has correct data and nothing else was written: inputs, memory
  // after the buffers, and the output of ranks without a result.
  void require_right();

  backend::Mismatch compare(int rank);
  backend::Place receive(int rank);

private:
  bool in_place() const { return case_.placement == model::Placement::in_place; }
  std::uint64_t bytes(std::uint64_t count) const { return count * model::size_bytes(case_.type); }
  model::Expectation expected(int rank) const;
  backend::Place send(int rank);
  std::uint64_t send_count() const;

  World& world_;
  Case case_;
  int n_;
  model::Pattern pattern_;
  std::vector<std::unique_ptr<backend::Buffer>> send_;
  std::vector<std::unique_ptr<backend::Buffer>> receive_;
};

} // namespace ncclprobe::contract
