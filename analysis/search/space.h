// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

// What may be tuned. docs/method.md defines the words, "How tune decides".
namespace ncclprobe::analysis::search {

// The index of a value for each parameter. 0 is the default: the parameter is not set.
using Candidate = std::vector<int>;

struct Parameter {
  std::string name;
  std::vector<std::string> values; // the first is the default
  bool in_process = false;         // takes effect in a running process; the others need a fresh one
};

// What is made faster: a collective of one size, or a training step.
struct Target {
  std::string name;
  double weight = 1; // above 0, relative to the others
  std::uint64_t bytes =
      0; // targets of one size class scatter alike (analysis/verdict/size_class.h)
};

struct Space {
  std::vector<Parameter> parameters; // in the order that matters
  std::vector<Target> targets;
  // Whether the candidate can run for that target (an index of `targets`). Empty: all can. It must
  // give the same answer each time.
  std::function<bool(const Candidate&, std::size_t target)> possible;
};

// No parameter is set.
Candidate default_candidate(const Space& space);
// The candidate without its in-process values: candidates that can share a process agree in it.
Candidate process_part(const Space& space, Candidate candidate);
// The process values of `process` with the in-process values of `in_process`.
Candidate joined(const Space& space, Candidate process, const Candidate& in_process);
// Whether it can run for all targets.
bool possible_for_all(const Space& space, const Candidate& candidate);
// How many parameters are set.
int changes(const Candidate& candidate);
// Whether `candidate` sets all that `part` sets.
bool contains(const Candidate& candidate, const Candidate& part);
// Combinations of values of the process parameters, or of the in-process ones, without the default,
// in an order that is always the same. The other kind of parameters is not set. If there are more
// than `most`: all changes of one value, then of two and so on, as many as fit.
std::vector<Candidate> combinations(const Space& space, bool in_process, std::size_t most);

// How many combinations of values there are, the default included: of the process parameters, of
// the in-process ones, or (without `in_process`) of all.
double count_of_combinations(const Space& space, std::optional<bool> in_process = {});

// "NAME=value NAME=value" of what is set; "default" if nothing is.
std::string to_text(const Space& space, const Candidate& candidate);

} // namespace ncclprobe::analysis::search
