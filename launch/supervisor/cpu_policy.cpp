// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/cpu_policy.h"

#include "base/allowed_cpus.h"
#include "base/number_list.h"
#include "launch/supervisor/cpu_list.h"

#include <algorithm>
#include <set>

namespace ncclprobe::launch {
namespace {

using Cpus = std::vector<int>;

// "0-3/4-7" -> two sets; empty if the text is not like that.
std::vector<Cpus> parse_sets(std::string_view text) {
  std::vector<Cpus> sets;
  for (std::size_t at = 0; at <= text.size();) {
    std::size_t end = std::min(text.find('/', at), text.size());
    Cpus cpus = base::parse_number_list(text.substr(at, end - at));
    std::ranges::sort(cpus);
    cpus.erase(std::unique(cpus.begin(), cpus.end()), cpus.end());
    if (cpus.empty())
      return {};
    sets.push_back(std::move(cpus));
    at = end + 1;
  }
  return sets;
}

Cpus common(const Cpus& a, const Cpus& b) {
  Cpus both;
  std::ranges::copy_if(a, std::back_inserter(both),
                       [&](int cpu) { return std::ranges::find(b, cpu) != b.end(); });
  std::ranges::sort(both);
  return both;
}

std::string in_words(const Cpus& cpus) {
  return fmt::format("CPU{} {}", cpus.size() == 1 ? "" : "s", base::format_number_list(cpus));
}

Result<Cpus> near_cpus(const HostCpus& host, const Cpus& allowed, int rank) {
  auto near = host.near.find(rank);
  if (near == host.near.end() || near->second.empty())
    return fail(Errc::unsupported,
                "this host does not say which CPUs are near the device of rank {}", rank);
  Cpus cpus = common(near->second, allowed);
  if (cpus.empty())
    return fail(
        Errc::unsupported,
        "of {}, which are near the device of rank {}, this job may use none (it may use {})",
        in_words(near->second), rank, base::format_number_list(allowed));
  return cpus;
}

Result<Cpus> own_core(const HostCpus& host, const Cpus& allowed, int rank) {
  Cpus candidates = near_cpus(host, allowed, rank).value_or(allowed);
  int place = 0; // among the ranks that choose from the same
  for (const auto& [other, unused] : host.near)
    if (other < rank && near_cpus(host, allowed, other).value_or(allowed) == candidates)
      ++place;
  std::set<int> firsts;
  for (int cpu : candidates)
    firsts.insert(core_of(cpu, host.sysfs).front());
  if (place >= std::ssize(firsts))
    return fail(Errc::unsupported, "rank {} is number {} to choose a core of {}, and there are {}",
                rank, place + 1, in_words(candidates), firsts.size());
  return common(core_of(*std::next(firsts.begin(), place), host.sysfs), candidates);
}

Result<Cpus> of_sets(const std::vector<Cpus>& sets, const HostCpus& host, const Cpus& allowed,
                     int rank) {
  auto place =
      static_cast<std::size_t>(std::distance(host.near.begin(), host.near.lower_bound(rank)));
  const Cpus& cpus = sets[place % sets.size()];
  if (common(cpus, allowed) != cpus)
    return fail(Errc::unsupported, "{} among {}, which this job may use",
                in_words(cpus) + (cpus.size() == 1 ? " is not" : " are not all"),
                base::format_number_list(allowed));
  return cpus;
}

} // namespace

Result<void> check_cpu_policy(std::string_view policy) {
  constexpr std::array<std::string_view, 4> k_names{"numa", "none", "launcher", "core"};
  if (std::ranges::find(k_names, policy) != k_names.end() || !parse_sets(policy).empty())
    return {};
  return fail(Error{Errc::invalid_argument, fmt::format("'{}' is not a choice of CPUs", policy),
                    "numa, none, launcher, core, or CPUs such as 0-3 or [0-3,8]; 0-3/4-7 "
                    "gives ranks different ones"});
}

Result<CpuChoice> choose_cpus(const std::string& policy, const HostCpus& host,
                              const std::vector<int>& ranks) {
  NCCLPROBE_TRY(check_cpu_policy(policy));
  CpuChoice choice;
  if (policy == "launcher") {
    choice.cpus = base::allowed_cpus();
    return choice;
  }
  choice.affinity = host.unbound;
  const Cpus allowed = [&] {
    AffinityScope scope(host.unbound, {});
    return base::allowed_cpus();
  }();
  const std::vector<Cpus> sets = parse_sets(policy);
  std::set<int> all;
  for (int rank : ranks) {
    NCCLPROBE_TRY_ASSIGN(const Cpus cpus, policy == "none"   ? Result<Cpus>(allowed)
                                          : policy == "numa" ? near_cpus(host, allowed, rank)
                                          : policy == "core" ? own_core(host, allowed, rank)
                                                             : of_sets(sets, host, allowed, rank));
    all.insert(cpus.begin(), cpus.end());
  }
  choice.cpus.assign(all.begin(), all.end());
  return choice;
}

} // namespace ncclprobe::launch
