// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/job/step_sequence.h"
#include "analysis/job/step_times.h"
#include "analysis/job/step_use.h"
#include "analysis/report/job_words.h"
#include "analysis/report/label_words.h"
#include "analysis/report/timeline_sections.h"
#include "analysis/report/timeline_words.h"
#include "base/name_ranks.h"
#include "base/readable_bytes.h"

namespace ncclprobe::analysis {

using namespace job;

namespace {

constexpr FindingKind k_steps_found{
    "steps_found", Severity::note,
    "The job does not mark its steps; repeats of the same operations count as steps. {in_steps} of "
    "{operations} "
    "operations ({share}) are in steps. Each cell is one kind of step."},
    k_no_repeats{"no_steps_found", Severity::warning,
                 "No steps were found: no rank repeats half of its operations in the same order at "
                 "least {fewest} times. The whole trace counts as one."},
    k_other_order{"steps_out_of_order", Severity::warning,
                  "{who}: {operations} operations come after those of a later step. Threads of the "
                  "program may call NCCL in changing order."};

constexpr std::size_t k_most_parts_named = 6;
constexpr std::size_t k_most_groups_named = 4;
constexpr double k_nearly_all_steps = 0.9;

std::vector<std::uint64_t> steps_of_kinds(const FoundSteps& found) {
  std::vector<std::uint64_t> steps;
  for (const StepKind& kind : found.kinds)
    steps.push_back(kind.steps);
  return steps;
}

struct KindRow {
  int kind = 0;
  StepKind what;
  std::size_t operations = 0; // of a step, on the rank that defines it
  std::uint64_t bytes = 0;
  std::optional<StepTimes> times;
  timeline::PartsSum sum; // over ranks
  StepUse use = StepUse::unknown;
  std::optional<std::uint32_t> micro_steps; // in each step; nothing: not known
  double per_step(std::int64_t ns) const {
    return sum.steps > 0 ? static_cast<double>(ns) / static_cast<double>(sum.steps) : 0;
  }
};

// " (bucket 1)", " (buckets 2-4)"
std::string bucket_text(const StepPart& part) {
  if (part.first_bucket == 0)
    return "";
  if (part.times == 1)
    return fmt::format(" (bucket {})", part.first_bucket);
  return fmt::format(" (buckets {}-{})", part.first_bucket, part.first_bucket + part.times - 1);
}

// The number that nearly all steps of all ranks with ranges have.
std::optional<std::uint32_t> micro_steps(const timeline::Timeline& timeline, int kind) {
  timeline::MicroStepCounts all;
  std::uint64_t steps = 0;
  for (const timeline::RankTimeline& rank : timeline.ranks)
    if (const auto counts = rank.micro_steps.find(kind); counts != rank.micro_steps.end())
      for (const auto& [number, times] : counts->second) {
        all[number] += times;
        steps += times;
      }
  const auto most = std::ranges::max_element(all, {}, [](const auto& one) { return one.second; });
  if (most == all.end() ||
      static_cast<double>(most->second) < k_nearly_all_steps * static_cast<double>(steps))
    return std::nullopt;
  return most->first;
}

std::vector<KindRow> kind_rows(const FoundSteps& found, const timeline::Timeline& timeline) {
  std::vector<KindRow> rows;
  const std::vector<StepUse> uses = step_uses(found);
  for (std::size_t i = 0; i < found.kinds.size(); ++i) {
    KindRow row;
    row.kind = static_cast<int>(i);
    row.what = found.kinds[i];
    row.use = uses[i];
    for (const StepPart& part : row.what.parts) {
      row.operations += part.times;
      row.bytes += part.bytes * part.times;
    }
    row.times = step_times(timeline, row.kind);
    row.micro_steps = micro_steps(timeline, row.kind);
    for (const timeline::RankTimeline& rank : timeline.ranks)
      if (const auto cell = rank.cells.find(row.kind); cell != rank.cells.end())
        row.sum.add(cell->second);
    rows.push_back(std::move(row));
  }
  return rows;
}

TimeUnit unit_of(const std::vector<KindRow>& rows) {
  double longest_ns = 0;
  for (const KindRow& row : rows)
    if (row.times)
      longest_ns = std::max(longest_ns, row.times->p95_ns);
  return unit_for(longest_ns);
}

TablePtr kinds_table(std::vector<KindRow> rows, const timeline::Timeline& timeline) {
  const TimeUnit unit = unit_of(rows);
  TableOf<KindRow> table(std::move(rows));
  using Row = const KindRow&;
  table.add("cell", &KindRow::kind).titled("cell");
  table.add("use", [](Row row) { return base::to_string(row.use); });
  table
      .show_left("use",
                 [](Row row) {
                   return row.use == StepUse::unknown ? Value() : Value(base::to_string(row.use));
                 })
      .if_any();
  table.add("steps", [](Row row) { return row.what.steps; }).titled("steps", {Unit::grouped});
  table.add("operations", &KindRow::operations).titled("operations", {Unit::grouped});
  table.add("micro_steps",
            [](Row row) { return row.micro_steps ? Value(*row.micro_steps) : Value(); });
  if (std::ranges::any_of(table.rows(), [](Row row) { return row.micro_steps.value_or(1) > 1; }))
    table.show("micro-steps",
               [](Row row) { return row.micro_steps ? Value(*row.micro_steps) : Value("-"); });
  table.add("bytes", &KindRow::bytes);
  table.show("data", [](Row row) { return base::readable_bytes(row.bytes); }).dispensable(3);
  table.add("mean_ns", [](Row row) { return row.times ? Value(row.times->mean_ns) : Value(); });
  table.show("step", [=](Row row) { return row.times ? in_unit(row.times->mean_ns, unit) : "-"; });
  table.add("mean_interval_ns",
            [](Row row) { return row.times ? Value(row.times->interval) : Value(); });
  table
      .show("95%",
            [=](Row row) { return range(row.times ? row.times->interval : std::nullopt, unit); })
      .dispensable(2);
  table.add("p95_ns", [](Row row) { return row.times ? Value(row.times->p95_ns) : Value(); });
  table.show("p95", [=](Row row) { return row.times ? in_unit(row.times->p95_ns, unit) : "-"; })
      .dispensable(1);
  auto part = [&](const char* key, const char* title, auto ns_of) {
    table.add(key, [=](Row row) { return row.per_step(ns_of(row.sum.parts)); });
    table.show(title, [=](Row row) { return in_unit(row.per_step(ns_of(row.sum.parts)), unit); });
  };
  part("communication_ns", "comm", [](auto& parts) { return parts.communication_ns; });
  const bool has_kernels =
      std::ranges::any_of(table.rows(), [](Row row) { return row.sum.steps_with_kernels > 0; });
  if (has_kernels) {
    table.add("steps_with_kernels", [](Row row) { return row.sum.steps_with_kernels; });
    part("compute_ns", "compute", [](auto& parts) { return parts.compute_ns; });
    part("hidden_ns", "hidden", [](auto& parts) { return parts.hidden_ns; });
  }
  table.add("exposed_wait_ns", [](Row row) { return row.per_step(row.sum.parts.exposed_wait_ns); });
  const bool knows_waits =
      std::ranges::any_of(timeline.ranks, [](const auto& rank) { return rank.matched > 0; });
  table.show("wait", [=](Row row) {
    return knows_waits ? in_unit(row.per_step(row.sum.parts.exposed_wait_ns), unit) : "-";
  });
  part("exposed_transfer_ns", "transfer", [](auto& parts) { return parts.exposed_transfer_ns; });
  if (has_kernels) {
    auto idle = [&](const char* key, const char* title, auto ns_of) {
      table.add(key, [=](Row row) { return row.per_step(ns_of(row.sum.idle)); });
      table.show(title, [=](Row row) { return in_unit(row.per_step(ns_of(row.sum.idle)), unit); });
    };
    idle("host_late_ns", "host late", [](auto& parts) { return parts.host_late_ns; });
    idle("input_ns", "input", [](auto& parts) { return parts.input_ns; });
  }
  table
      .add("parts",
           [texts = timeline.texts](Row row) {
             List parts;
             for (const StepPart& one : row.what.parts)
               parts.push_back(Object{
                   {"function", texts.at(one.function)},
                   {"bytes", one.bytes},
                   {"times", one.times},
                   {"first_bucket", one.first_bucket > 0 ? Value(one.first_bucket) : Value()}});
             return parts;
           })
      .nested();
  return table.table();
}

// Communicators that do the same: of one role and size, with the same operations in a step.
struct Group {
  Role role = Role::unknown;
  int size = 0;
  std::string name;                    // NCCL's, of the first
  std::vector<std::vector<int>> ranks; // of each
};
struct UseRow {
  Group group;
  std::uint32_t kind = 0;
  std::string function;
  std::uint64_t bytes = 0;
  OperationUse use;
  double rank_steps = 0;

  double per_step() const { return static_cast<double>(use.operations) / rank_steps; }
  double busy_ns() const { return static_cast<double>(use.busy_ns) / rank_steps; }
};

std::string ranks_text(const Group& group) {
  std::string text;
  for (std::size_t i = 0; i < std::min(group.ranks.size(), k_most_groups_named); ++i)
    text += (i == 0 ? "" : "; ") + base::format_number_list(group.ranks[i]);
  return text + (group.ranks.size() > k_most_groups_named ? "; ..." : "");
}

std::vector<UseRow> use_rows(const FoundSteps& found) {
  const std::vector<std::uint64_t> steps = steps_of_kinds(found);
  std::map<std::pair<Role, int>, std::vector<const JobCommunicator*>> groups;
  for (const auto& [hash, one] : found.communicators)
    if (!one.uses.empty())
      groups[{role_of(one, steps), one.size}].push_back(&one);
  std::vector<UseRow> rows;
  for (const auto& [what, members] : groups) {
    Group group{what.first, what.second, members.front()->name, {}};
    std::map<std::tuple<std::uint32_t, std::string, std::uint64_t>, OperationUse> sums;
    std::map<std::uint32_t, double> rank_steps;
    for (const JobCommunicator* one : members) {
      group.ranks.emplace_back();
      for (const auto& [own, rank] : one->ranks)
        group.ranks.back().push_back(rank);
      for (const auto& [kind, use] : one->uses) {
        rank_steps[kind] +=
            static_cast<double>(steps[kind]) * static_cast<double>(one->ranks.size());
        for (const auto& [operation, sum] : use.operations) {
          OperationUse& to = sums[{kind, operation.first, operation.second}];
          to.operations += sum.operations;
          to.busy_ns += sum.busy_ns;
        }
      }
    }
    for (const auto& [key, sum] : sums) {
      const auto& [kind, function, bytes] = key;
      rows.push_back({group, kind, function, bytes, sum, rank_steps[kind]});
    }
  }
  std::ranges::stable_sort(rows, std::ranges::greater{}, [](const UseRow& row) {
    return std::pair(row.use.busy_ns, row.use.operations);
  });
  return rows;
}

TablePtr uses_table(std::vector<UseRow> rows) {
  double longest_ns = 0;
  for (const UseRow& row : rows)
    longest_ns = std::max(longest_ns, row.busy_ns());
  const TimeUnit unit = unit_for(longest_ns);
  TableOf<UseRow> table(std::move(rows));
  using Row = const UseRow&;
  table.add("cell", &UseRow::kind).titled("cell");
  table.add("role", [](Row row) { return base::to_string(row.group.role); });
  table.show_left("group", [](Row row) { return role_text(row.group.role); });
  table.add("communicators", [](Row row) { return row.group.ranks.size(); });
  table.add("communicator_size", [](Row row) { return row.group.size; });
  table.show("groups", [](Row row) {
    return fmt::format("{} x {}", row.group.ranks.size(), row.group.size);
  });
  table.add("ranks", [](Row row) { return row.group.ranks; }).nested();
  table
      .show_left(
          "ranks", [](Row row) { return ranks_text(row.group); }, 20)
      .dispensable(2);
  table.add("name", [](Row row) { return row.group.name; });
  table.add("function", &UseRow::function).titled("function").left();
  table.add("bytes", &UseRow::bytes);
  table.show("size", [](Row row) { return base::readable_bytes(row.bytes); });
  table.add("per_step", &UseRow::per_step).titled("per step", {Unit::number});
  table.add("busy_ns", &UseRow::busy_ns);
  table.show(fmt::format("time, {}", unit.name),
             [=](Row row) { return in_unit(row.busy_ns(), unit); });
  return table.table();
}

Findings out_of_order(const FoundSteps& found) {
  Findings out{"  ", {}, 2};
  std::vector<int> ranks;
  std::uint64_t operations = 0;
  for (const RankSteps& rank : found.ranks)
    if (rank.out_of_order > 0) {
      ranks.push_back(rank.rank);
      operations += rank.out_of_order;
    }
  if (!ranks.empty())
    out.all.push_back(
        {&k_other_order,
         {{"who", base::name_ranks(ranks)}, {"ranks", ranks}, {"operations", operations}}});
  return out;
}

} // namespace

std::string role_text(Role role) {
  switch (role) {
  case Role::unknown:
    return "not known";
  case Role::data:
    return "data";
  case Role::sharded_data:
    return "sharded data";
  case Role::tensor:
    return "tensor";
  case Role::pipeline:
    return "pipeline";
  case Role::expert:
    return "expert";
  case Role::control:
    return "control";
  }
  return "not known";
}

std::string step_kind_text(const StepKind& kind, const std::vector<std::string>& texts) {
  std::vector<std::string> words;
  for (const StepPart& part : kind.parts) {
    if (words.size() == k_most_parts_named) {
      words.emplace_back("...");
      break;
    }
    words.push_back(
        fmt::format("{} {}{}{}", texts.at(part.function), base::readable_bytes(part.bytes),
                    part.times > 1 ? fmt::format(" x {}", part.times) : "", bucket_text(part)));
  }
  return base::join(words, ", ");
}

Report job_report(const timeline::Timeline& timeline, const TimelineHeading& heading) {
  if (!heading.job || heading.job->reason == NoSteps::marked)
    return {};
  const FoundSteps& found = *heading.job;
  const std::vector<KindRow> kinds = kind_rows(found, timeline);
  const std::vector<UseRow> uses = use_rows(found);
  Report report{.data = {{"job", Object{{"steps", base::to_string(found.reason)},
                                        {"operations", found.operations()},
                                        {"operations_in_steps", found.in_steps()},
                                        {"batches", found.batches.size()},
                                        {"kinds", kinds_table(kinds, timeline)},
                                        {"communicators", uses_table(uses)}}}}};
  if (found.reason == NoSteps::no_operations)
    return report;
  Section section{"job_steps"};
  if (found.reason == NoSteps::no_repeats) {
    section.blocks.push_back(Findings{"", {{&k_no_repeats, {{"fewest", k_fewest_steps}}}}, 0});
    report.sections.push_back(std::move(section));
    return report;
  }
  section.title = fmt::format("Steps found, {} (means over ranks)", unit_of(kinds).name);
  section.blocks.push_back(View{.table = kinds_table(kinds, timeline), .most_rows = k_most_rows});
  for (std::size_t i = 0; i < std::min(kinds.size(), k_most_rows); ++i)
    section.blocks.push_back(
        Text{fmt::format("  {}:", i), step_kind_text(found.kinds[i], timeline.texts), 5});
  section.blocks.push_back(
      Findings{"  ",
               {{&k_steps_found,
                 {{"in_steps", grouped(found.in_steps())},
                  {"operations", grouped(found.operations())},
                  {"share", fmt::format("{:.1f}%", 100 * static_cast<double>(found.in_steps()) /
                                                       static_cast<double>(found.operations()))}}}},
               2});
  if (Findings other = out_of_order(found); !other.all.empty())
    section.blocks.push_back(std::move(other));
  report.sections.push_back(std::move(section));
  if (!uses.empty())
    report.sections.push_back(
        {"job_communicators",
         "What communicators are used for, per rank and step (time includes waiting)",
         {View{.table = uses_table(uses), .most_rows = k_most_table_rows}}});
  return report;
}

} // namespace ncclprobe::analysis
