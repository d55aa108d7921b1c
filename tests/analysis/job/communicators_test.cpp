// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/communicators.h"
#include "analysis/job/made_job.h"
#include "support/catch.h"

using namespace ncclprobe::analysis::job;

namespace {

constexpr std::uint64_t k_steps = 10;

struct Use {
  const char* function;
  std::uint64_t bytes;
  std::uint64_t of_a_step; // and rank
};

struct Case {
  Role role;
  int size;
  std::vector<Use> uses;
  std::set<int> distances = {};
  std::uint64_t gathers_in_a_row = 0; // of a step and rank
};

Role found(const Case& of) {
  JobCommunicator one;
  one.size = of.size;
  for (int rank = 0; rank < of.size; ++rank)
    one.ranks[rank] = 3 * rank;
  const std::uint64_t times = k_steps * static_cast<std::uint64_t>(of.size);
  CommunicatorUse& use = one.uses[0];
  for (const Use& what : of.uses)
    use.operations[{what.function, what.bytes}].operations = what.of_a_step * times;
  use.distances = of.distances;
  use.gathers_in_a_row = of.gathers_in_a_row * times;
  return role_of(one, {k_steps});
}

} // namespace

TEST_CASE("A communicator's operations say what it is for, or nothing is known") {
  const std::vector<Case> cases{
      {Role::data, 8, {{"AllReduce", 25 * k_mib, 4}, {"AllReduce", k_mib, 1}}},
      {Role::data, 2, {{"AllReduce", 100 * k_mib, 1}}},
      {Role::tensor, 8, {{"AllReduce", 16 * k_mib, 128}, {"AllReduce", 8, 2}}},
      {Role::tensor, 4, {{"AllGather", 8 * k_mib, 96}, {"ReduceScatter", 2 * k_mib, 96}}},
      {Role::sharded_data,
       4,
       {{"AllGather", 50 * k_mib, 32}, {"ReduceScatter", 50 * k_mib, 16}},
       {},
       15},
      {Role::sharded_data, 4, {{"AllGather", 500 * k_mib, 1}, {"ReduceScatter", 500 * k_mib, 1}}},
      {Role::pipeline, 4, {{"Send", 4 * k_mib, 8}, {"Recv", 4 * k_mib, 8}}, {1, -1}},
      {Role::unknown, 4, {{"Send", 4 * k_mib, 8}, {"Recv", 4 * k_mib, 8}}, {1, -3}}, // a ring
      {Role::expert, 4, {{"Send", 4 * k_mib, 8}, {"Recv", 4 * k_mib, 8}}, {-1, 0, 1}},
      {Role::expert, 8, {{"AlltoAll", 4 * k_mib, 8}}},
      {Role::control, 8, {{"AllReduce", 4, 3}}},
      {Role::unknown, 8, {{"Broadcast", 4 * k_mib, 3}}},
      {Role::unknown, 1, {{"AllReduce", 4 * k_mib, 3}}}};
  for (std::size_t i = 0; i < cases.size(); ++i) {
    CAPTURE(i);
    CHECK(found(cases[i]) == cases[i].role);
  }
}
