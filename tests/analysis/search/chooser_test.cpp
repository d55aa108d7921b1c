// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/search/chooser.h"
#include "analysis/search/gaussian_process.h"
#include "support/catch.h"

#include <algorithm>
#include <cmath>
#include <set>

using namespace ncclprobe::analysis::search;
using Catch::Detail::Approx;

namespace {

Space space_of(std::initializer_list<int> counts) {
  Space space{.targets = {{.name = "t"}}};
  for (int count : counts)
    space.parameters.push_back(
        {.name = "P", .values = std::vector<std::string>(static_cast<std::size_t>(count))});
  return space;
}

// Asks until nothing more is worth a trial. Measures without noise.
std::vector<Observation> explored(Chooser& chooser, const Space& space,
                                  const std::function<double(const Candidate&)>& value,
                                  const Chooser::Allowed& allowed) {
  std::vector<Observation> tried{{default_candidate(space), 0, 1e-6}};
  for (auto chosen = chooser.next(tried, allowed, 4); !chosen.empty();
       chosen = chooser.next(tried, allowed, 4))
    for (const Candidate& one : chosen)
      tried.push_back({one, value(one), 1e-6});
  return tried;
}

bool has(const std::vector<Observation>& tried, const Candidate& candidate) {
  return std::ranges::find(tried, candidate, &Observation::candidate) != tried.end();
}

// The first two parameters help only together.
double together(const Candidate& one) {
  return 0.05 * (one[0] == 2) + 0.05 * (one[1] == 3) - 0.3 * (one[0] == 2 && one[1] == 3);
}

} // namespace

TEST_CASE("a Gaussian process knows what it was told, and little of what is far away") {
  const GaussianProcess process({{{0, 0}, 0, 1e-6}, {{1, 0}, -0.2, 1e-6}, {{0, 1}, 0.1, 1e-6}},
                                GaussianProcess::k_exploring);
  const auto beliefs = process.beliefs({{1, 0}, {1, 1}, {2, 2}});
  CHECK(beliefs[0].mean == Approx(-0.2).margin(0.005));
  CHECK(beliefs[0].deviation < 0.01);
  CHECK(beliefs[1].mean < 0); // effects add up
  CHECK(beliefs[1].mean > -0.2);
  CHECK(beliefs[2].deviation > beliefs[1].deviation);
}

TEST_CASE("expected improvement of a normal belief") {
  CHECK(expected_improvement({.mean = -1, .deviation = 0}, 0) == 1);
  CHECK(expected_improvement({.mean = 1, .deviation = 0}, 0) == 0);
  CHECK(expected_improvement({.mean = 0, .deviation = 1}, 0) ==
        Approx(1 / std::sqrt(2 * std::acos(-1.0))));
}

TEST_CASE("the model finds two values that help only together, coordinate descent does not") {
  const Space space = space_of({4, 4, 4});
  auto allowed = [](const Candidate&) { return true; };
  auto model = make_chooser(Strategy::model, space);
  auto descent = make_chooser(Strategy::descent, space);
  auto both_set = [](const Observation& one) {
    return one.candidate[0] == 2 && one.candidate[1] == 3;
  };
  const auto by_model = explored(*model, space, together, allowed);
  CHECK(std::ranges::any_of(by_model, both_set));
  CHECK(by_model.size() < 64);
  CHECK(std::ranges::none_of(explored(*descent, space, together, allowed), both_set));
}

TEST_CASE("coordinate descent reaches an optimum at the end of every parameter") {
  const Space space = space_of({5, 4, 3});
  auto descent = make_chooser(Strategy::descent, space);
  const auto tried = explored(
      *descent, space, [](const Candidate& one) { return -0.05 * (one[0] + one[1] + one[2]); },
      [](const Candidate&) { return true; });
  CHECK(has(tried, {4, 3, 2}));
  CHECK(tried.size() == 1 + 2 * (4 + 3) + 2); // each line once, then around the optimum
}

TEST_CASE("no strategy tries a combination twice, or one that is not allowed") {
  const Space space = space_of({4, 3, 3});
  auto allowed = [](const Candidate& one) { return one[0] != 2; };
  for (Strategy strategy : {Strategy::model, Strategy::descent}) {
    auto chooser = make_chooser(strategy, space);
    const auto tried = explored(*chooser, space, together, allowed);
    std::set<Candidate> different;
    for (const Observation& one : tried) {
      CHECK(allowed(one.candidate));
      different.insert(one.candidate);
    }
    CHECK(different.size() == tried.size());
    CHECK(tried.size() > 5);
  }
}

TEST_CASE("combinations come once each, fewer changes first, up to a limit") {
  Space space = space_of({3, 3, 2});
  space.parameters[2].in_process = true;
  const auto all = combinations(space, false, 100);
  CHECK(all.size() == 8);
  CHECK(std::set(all.begin(), all.end()).size() == 8);
  CHECK(std::ranges::is_sorted(all, {}, changes));
  CHECK(combinations(space, true, 100) == std::vector<Candidate>{{0, 0, 1}});
  CHECK(combinations(space, false, 5).size() == 5);
}
