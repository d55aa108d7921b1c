// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/hang/hang_report.h"

#include "analysis/hang/hang_words.h"
#include "base/number_list.h"
#include "base/printable.h"
#include "base/text_layout.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <utility>

namespace ncclprobe::analysis::hang {
namespace {

constexpr int k_label_columns = 12;
constexpr std::size_t k_most_rows = 40; // of a table for people

struct StandingRow {
  const Source* source;
  const Standing* standing;

  const Group& group() const { return source->job.groups[standing->group]; }
  const RankCalls* rank() const {
    return standing->of ? &source->job.ranks[*standing->of] : nullptr;
  }
  const Call* call() const { // where it stands, or else its last one
    const std::optional<CallPlace>& place = standing->open ? standing->open : standing->last;
    return place ? &source->job.ranks[place->rank].calls[place->call] : nullptr;
  }
};

struct MismatchRow {
  const Source* source;
  const Mismatch* mismatch;
};

// Adds a column with the value of a row's call; null if it has none.
template <typename Get>
auto of_call(Get get) {
  return [get](const StandingRow& row) {
    const Call* call = row.call();
    return call == nullptr ? Value() : Value(get(*call));
  };
}
Value known(const std::string& text) {
  return text.empty() ? Value() : Value(text);
}
Value known(int number) {
  return number < 0 ? Value() : Value(number);
}
double seconds(std::int64_t ns) {
  return six_digits(static_cast<double>(ns) / 1e9);
}

TablePtr standing_table(std::vector<StandingRow> rows) {
  TableOf<StandingRow> table(std::move(rows));
  table.add("source", [](const StandingRow& row) { return row.source->name; });
  table.add("communicator", [](const StandingRow& row) { return row.group().name; })
      .titled("communicator")
      .left(24)
      .once();
  table.add("communicator_key", [](const StandingRow& row) { return row.group().key; });
  table.add("size", [](const StandingRow& row) { return row.group().ranks.size(); });
  table.add("rank", [](const StandingRow& row) { return known(row.standing->rank); })
      .titled("rank");
  table.add("rank_in_communicator", [](const StandingRow& row) { return row.standing->member; });
  table.add("host", [](const StandingRow& row) {
    return row.rank() == nullptr ? Value() : known(row.rank()->host);
  });
  table.add("process", [](const StandingRow& row) {
    return row.rank() == nullptr || row.rank()->process == 0 ? Value() : Value(row.rank()->process);
  });
  table
      .add("process_state",
           [](const StandingRow& row) {
             return row.rank() == nullptr ? Value() : Value(row.rank()->state);
           })
      .titled("process")
      .left()
      .dispensable(2);
  table
      .add("state",
           [](const StandingRow& row) { return standing_state(*row.standing, row.source->job); })
      .titled("state")
      .left();
  table.show_left("in, or after", [](const StandingRow& row) {
    return row.call() == nullptr ? Value() : Value(call_name(*row.call()));
  });
  table.add("function", of_call([](const Call& call) { return call.function; }));
  table.add("number", of_call([](const Call& call) { return call.number; }));
  table
      .add("bytes",
           of_call([](const Call& call) { return call.bytes == 0 ? Value() : Value(call.bytes); }))
      .titled("bytes", {Unit::size});
  table.add("count", of_call([](const Call& call) { return call.count; }));
  table.add("data_type", of_call([](const Call& call) { return known(call.data_type); }))
      .titled("type")
      .left()
      .dispensable(3);
  table.add("root", of_call([](const Call& call) { return known(call.root); }));
  table.add("peer", of_call([](const Call& call) { return known(call.peer); }));
  table.add("algorithm", of_call([](const Call& call) { return known(call.algorithm); }));
  table.add("protocol", of_call([](const Call& call) { return known(call.protocol); }));
  table
      .add("behind",
           [](const StandingRow& row) {
             return row.standing->of ? Value(row.standing->behind) : Value();
           })
      .titled("behind");
  table
      .add("waits_s",
           [](const StandingRow& row) {
             return row.standing->open ? Value(seconds(row.standing->waits_ns)) : Value();
           })
      .titled("waits s", {Unit::fixed, 1});
  table.add("where", of_call([](const Call& call) { return call.where; })).nested();
  table
      .show("called at", of_call([](const Call& call) {
              return call.where.empty() ? Value() : Value(base::printable(call.where.front()));
            }))
      .left(28)
      .if_any();
  return table.table();
}

TablePtr mismatch_table(std::vector<MismatchRow> rows) {
  TableOf<MismatchRow> table(std::move(rows));
  auto group = [](const MismatchRow& row) -> const Group& {
    return row.source->job.groups[row.mismatch->group];
  };
  table.add("communicator", [group](const MismatchRow& row) { return group(row).name; })
      .titled("communicator")
      .left(24)
      .once();
  table.add("argument", [](const MismatchRow& row) { return row.mismatch->argument; })
      .titled("differs")
      .left();
  table.add("ranks", [](const MismatchRow& row) { return row.mismatch->ranks; });
  table.show_left("ranks", [](const MismatchRow& row) {
    return base::format_number_list(row.mismatch->ranks);
  });
  table.add("theirs", [](const MismatchRow& row) { return call_text(row.mismatch->theirs); })
      .titled("called")
      .left(30);
  table.add("others", [](const MismatchRow& row) { return call_text(row.mismatch->others); })
      .titled("others called")
      .left(30);
  return table.table();
}

// "world: ranks 8-63 of the communicator left no record"
std::vector<std::string> missing_texts(const Source& source) {
  std::map<std::size_t, std::vector<int>> missing; // members, by group
  for (const Standing& one : source.verdict.standings)
    if (!one.of)
      missing[one.group].push_back(one.member);
  std::vector<std::string> texts;
  for (const auto& [group, members] : missing)
    texts.push_back(fmt::format("{}: {} {} of the communicator left no record.",
                                base::printable(source.job.groups[group].name),
                                members.size() == 1 ? "rank" : "ranks",
                                base::format_number_list(members)));
  return texts;
}

// The rows that people need: of communicators in which somebody waits or is behind. Ranks without a
// record have nothing to show.
std::vector<std::size_t> rows_to_show(const std::vector<StandingRow>& rows) {
  std::set<std::pair<const Source*, std::size_t>> concerned;
  for (const StandingRow& row : rows)
    if (row.standing->open || row.standing->behind > 0 || !row.standing->of)
      concerned.emplace(row.source, row.standing->group);
  std::vector<std::size_t> shown;
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (rows[i].standing->of && concerned.contains({rows[i].source, rows[i].standing->group}))
      shown.push_back(i);
  return shown;
}

Section reading_section() {
  Section section{.key = "reading", .title = "How to read this", .part = Section::Part::method};
  constexpr int k_term_columns = 16;
  section.add(
      "  state",
      "calling: NCCL has not returned from the call. queued: NCCL has returned, and the GPU "
      "has not begun. running: on the GPU. outside NCCL: in no operation.",
      k_term_columns);
  section.add("  in, or after",
              "the operation that the rank is in; if it is in none, the last one that it called.",
              k_term_columns);
  section.add(
      "  behind",
      "collectives that other ranks of the communicator have called, and this rank has not.",
      k_term_columns);
  section.add("  waits s",
              "seconds since the rank called the operation that it is in, up to now, or up to the "
              "end of its record if its process is gone.",
              k_term_columns);
  return section;
}

} // namespace

bool hangs(const std::vector<Source>& sources) {
  return std::ranges::any_of(
      sources, [](const Source& source) { return source.verdict.cause != Cause::none; });
}

Report hang_report(const std::vector<Source>& given, const LiveAnswers& live) {
  auto sources = std::make_shared<const std::vector<Source>>(given);
  auto first = std::ranges::find_if(
      *sources, [](const Source& source) { return source.verdict.cause != Cause::none; });
  if (first == sources->end())
    first = sources->begin();
  const Job& job = first->job;
  const Verdict& verdict = first->verdict;
  std::vector<StandingRow> standings;
  std::vector<MismatchRow> mismatches;
  for (const Source& source : *sources) {
    for (const Standing& one : source.verdict.standings)
      standings.push_back({&source, &one});
    for (const Mismatch& one : source.verdict.mismatches)
      mismatches.push_back({&source, &one});
  }
  const std::vector<std::size_t> shown = rows_to_show(standings);
  const TablePtr standing = standing_table(std::move(standings));
  const TablePtr mismatched = mismatch_table(mismatches);

  Section answer{.key = "verdict", .part = Section::Part::answer};
  answer.blocks.emplace_back(Findings{"Verdict", {verdict_finding(job, verdict)}, k_label_columns});
  answer.add_each("Evidence", evidence_texts(job, verdict), k_label_columns);
  for (const Source& source : *sources)
    answer.add(
        "Source",
        fmt::format("{}: {}, {}", base::printable(source.name),
                    base::count_of(source.job.ranks.size(), "rank", "ranks"),
                    base::count_of(source.job.groups.size(), "communicator", "communicators")),
        k_label_columns);
  std::vector<std::string> notes;
  for (const Source& source : *sources) {
    std::ranges::move(missing_texts(source), std::back_inserter(notes));
    std::ranges::transform(source.job.remarks, std::back_inserter(notes), base::printable);
  }
  answer.add_each("Note", notes, k_label_columns);
  std::vector<Section> sections{answer};
  if (!shown.empty())
    sections.push_back(
        {.key = "standings",
         .title = "Where each rank stands, in communicators that wait",
         .blocks = {View{.table = standing, .rows = shown, .most_rows = k_most_rows}}});
  if (mismatched->rows > 0)
    sections.push_back({.key = "mismatches",
                        .title = "Ranks called different collectives",
                        .blocks = {View{.table = mismatched, .most_rows = k_most_rows}}});
  const TablePtr stacks = stacks_table(live.stacks);
  if (stacks->rows > 0)
    sections.push_back({.key = "stacks",
                        .title = "Where the processes of these ranks are now",
                        .blocks = {main_threads(live.stacks, stacks)}});
  if (!live.ras.empty()) {
    Code code;
    for (const std::string& line : live.ras)
      code.lines.push_back(base::printable(line));
    sections.push_back({.key = "ras", .title = "NCCL RAS", .blocks = {std::move(code)}});
  }
  if (!shown.empty())
    sections.push_back(reading_section());
  std::vector<Value> names;
  for (const Source& source : *sources)
    names.emplace_back(source.name);
  std::vector<int> blamed;
  for (const Standing& one : verdict.blamed)
    if (one.rank >= 0)
      blamed.push_back(one.rank);
  const Call* call =
      verdict.call ? &job.ranks[verdict.call->rank].calls[verdict.call->call] : nullptr;
  return {
      .title = "Hang",
      .sections = std::move(sections),
      .data = {{"schema", "ncclprobe.hang"},
               {"schema_version", 1},
               {"sources", names},
               {"cause", verdict.cause},
               {"communicator", call == nullptr ? Value() : Value(job.groups[call->group].name)},
               {"function", call == nullptr ? Value() : Value(call->function)},
               {"number", call == nullptr ? Value() : Value(call->number)},
               {"blamed_ranks", blamed},
               {"waiting_ranks", verdict.waiting},
               {"waits_s", call == nullptr ? Value() : Value(seconds(verdict.waits_ns))},
               {"standings", standing},
               {"mismatches", mismatched},
               {"stacks", stacks},
               {"ras", live.ras}},
      .rows = standing,
      .figures = {sources}};
}

} // namespace ncclprobe::analysis::hang
