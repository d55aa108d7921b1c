// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/predict/step_program.h"

#include "workload/schedule_rules.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::cost_model {

namespace {

constexpr int k_steps = 2; // the first warms up: a pipeline's ranks begin one after the other

struct Group {
  std::vector<int> members;
  std::map<int, int> on_node; // members, by node
  int most_on_node = 0;
};

struct Amount {
  Work::Kind kind;
  double amount;
};
template <typename Op>
Amount amount_of(const Op& op) {
  using Kind = Work::Kind;
  if constexpr (std::is_same_v<Op, model::GemmOp>)
    return {Kind::product, 2.0 * static_cast<double>(op.m) * static_cast<double>(op.n) *
                               static_cast<double>(op.k) * static_cast<double>(op.batch)};
  else if constexpr (std::is_same_v<Op, model::SpinOp>)
    return {op.is_host ? Kind::host : Kind::spin, static_cast<double>(op.duration_ns)};
  else if constexpr (std::is_same_v<Op, model::ConvertOp>)
    return {Kind::conversion,
            static_cast<double>(op.count * (size_bytes(op.from_type) + size_bytes(op.into_type)))};
  else if constexpr (std::is_same_v<Op, model::OptimizerOp>)
    return {Kind::optimizer, static_cast<double>(op.count)};
  else
    return {Kind::copy, static_cast<double>(op.bytes)};
}

template <typename Op>
constexpr bool k_is_work =
    std::is_same_v<Op, model::GemmOp> || std::is_same_v<Op, model::SpinOp> ||
    std::is_same_v<Op, model::ConvertOp> || std::is_same_v<Op, model::OptimizerOp> ||
    std::is_same_v<Op, model::CopyOp>;
template <typename Op>
constexpr bool k_is_message =
    std::is_same_v<Op, model::SendOp> || std::is_same_v<Op, model::RecvOp>;

using Pieces = std::vector<std::pair<double, double>>; // begin and end, ns

// Time in any of them, since then.
double length_ns(Pieces pieces, double since_ns) {
  std::sort(pieces.begin(), pieces.end());
  double sum_ns = 0;
  for (const auto& [begin_ns, end_ns] : pieces) {
    sum_ns += std::max(end_ns - std::max(begin_ns, since_ns), 0.0);
    since_ns = std::max(since_ns, end_ns);
  }
  return sum_ns;
}

bool is_computing(const Work& work) {
  return work.kind != Work::Kind::host && work.activity != model::Activity::host_copy;
}

} // namespace

std::string in_words(const Transfer& transfer) {
  return fmt::format("{} of {} ranks", model::to_string(transfer.collective), transfer.ranks);
}

std::string stretch_name(const std::string& activity_and_label, int number, int rank) {
  return fmt::format("{} #{}{}", activity_and_label, number,
                     rank < 0 ? std::string() : fmt::format(" of rank {}", rank));
}

class ProgramMaker {
public:
  ProgramMaker(const model::Schedule& schedule, const std::vector<int>& node_of)
      : schedule_(schedule), node_of_(node_of), world_(static_cast<int>(node_of.size())) {}

  Result<StepProgram> make() {
    for (const model::CommunicatorDecl& one : schedule_.communicators) {
      Group group{workload::members_of(one, world_), {}, 0};
      for (int rank : group.members)
        group.most_on_node = std::max(group.most_on_node,
                                      ++group.on_node[node_of_.at(static_cast<std::size_t>(rank))]);
      groups_.push_back(std::move(group));
    }
    out_.streams_ = static_cast<int>(schedule_.streams.size());
    choose_ranks();
    if (replayed_.empty())
      return fail(Errc::invalid_argument, "this schedule is not a training step");
    for (int rank : replayed_)
      add_rank(rank);
    if (!pending_.empty())
      return fail(Errc::invalid_argument, "this step has a send without its receive");
    for (const auto& [transfer, index] : transfer_numbers_) {
      out_.transfers_.resize(transfer_numbers_.size());
      out_.transfers_[static_cast<std::size_t>(index)] = transfer;
    }
    StepProgram::Times times;
    if (!out_.run(std::vector<double>(out_.transfers_.size(), 1),
                  std::vector<double>(out_.works_.size(), 1), times))
      return fail(Errc::invalid_argument, "the ranks of this step deadlock");
    return std::move(out_);
  }

private:
  const model::Operation& operation(int i) const {
    return schedule_.operations[static_cast<std::size_t>(i)];
  }

  // Members of the step's marker. All ranks are alike if each does the same and names no other
  // rank. Operations of all ranks belong to those in the communicator, or to the one that drives
  // it.
  void choose_ranks() {
    std::vector<int> ranks;
    bool alike = true;
    for (int i = schedule_.timed.first; i < schedule_.timed.last; ++i) {
      const model::Operation& one = operation(i);
      if (const auto* marker = std::get_if<model::MarkerOp>(&one.what);
          marker && marker->label == "step") {
        for (int rank = 0; rank < world_; ++rank)
          if (model::names_rank(one.ranks, rank))
            ranks.push_back(rank);
        training_ = one.ranks;
      }
      alike = alike && (one.ranks.empty() || one.ranks == training_) && !names_a_rank(one);
    }
    out_.alike_ = alike;
    if (alike && !ranks.empty())
      ranks.resize(1);
    replayed_ = std::move(ranks);
  }
  static bool names_a_rank(const model::Operation& one) {
    if (const auto* send = std::get_if<model::SendOp>(&one.what))
      return send->to.kind == model::Peer::Kind::absolute;
    if (const auto* receive = std::get_if<model::RecvOp>(&one.what))
      return receive->from.kind == model::Peer::Kind::absolute;
    return false;
  }

  int event_number(int event) {
    auto [found, is_new] = events_.try_emplace(event, out_.events_);
    out_.events_ += is_new ? 1 : 0;
    return found->second;
  }

  int transfer_number(const Transfer& transfer) {
    return transfer_numbers_.try_emplace(transfer, static_cast<int>(transfer_numbers_.size()))
        .first->second;
  }

  void add_rank(int rank) {
    out_.actions_.emplace_back();
    open_.assign(schedule_.streams.size(), {});
    seen_.clear();
    messages_.clear();
    calls_.clear();
    in_group_ = begun_ = false;
    for (int i = schedule_.timed.first; i < schedule_.timed.last; ++i)
      if (model::names_rank(operation(i).ranks, rank))
        std::visit([&](const auto& op) { add(op, rank, i); }, operation(i).what);
  }

  std::vector<StepProgram::Action>& actions() { return out_.actions_.back(); }
  using Kind = StepProgram::Action::Kind;

  template <typename Op>
  void add(const Op& op, int rank, int at) {
    if constexpr (std::is_same_v<Op, model::MarkerOp>)
      mark(op, rank);
    else if constexpr (std::is_same_v<Op, model::RecordEventOp>)
      actions().push_back({Kind::record, op.stream, event_number(op.event), 0});
    else if constexpr (std::is_same_v<Op, model::WaitEventOp>)
      actions().push_back({Kind::wait, op.stream, event_number(op.event), 0});
    else if constexpr (std::is_same_v<Op, model::GroupBeginOp>)
      in_group_ = true;
    else if constexpr (std::is_same_v<Op, model::GroupEndOp>)
      end_group();
    else if constexpr (std::is_same_v<Op, model::CollectiveOp>)
      join(op.stream, collective(op, rank, at));
    else if constexpr (k_is_message<Op>)
      message(op, rank);
    else if constexpr (k_is_work<Op>)
      work(op, rank);
  }

  void mark(const model::MarkerOp& marker, int rank) {
    if (marker.edge == model::MarkerEdge::begin) {
      const std::string name =
          fmt::format("{} {}", model::to_string(marker.activity), marker.label);
      open_[static_cast<std::size_t>(marker.stream)] = {
          marker.activity, stretch_name(name, ++seen_[name], out_.alike_ ? -1 : rank)};
    } else if (marker.edge == model::MarkerEdge::end) {
      open_[static_cast<std::size_t>(marker.stream)] = {};
    } else if (marker.label == "step" && !begun_) {
      begun_ = true;
      actions().push_back({Kind::begin, marker.stream, 0, 0});
    }
  }

  template <typename Op>
  void work(const Op& op, int rank) {
    if constexpr (std::is_same_v<Op, model::CopyOp>)
      if (op.driving_rank() != rank)
        return;
    const Amount amount = amount_of(op);
    const auto& open = open_[static_cast<std::size_t>(op.stream)];
    actions().push_back({Kind::work, op.stream, static_cast<int>(out_.works_.size()), 0});
    out_.works_.push_back({amount.kind, amount.amount, open.first, open.second});
  }

  // The rank reaches this communication; within a group, all of the group's at once.
  void join(int stream, int communication) {
    if (communication < 0)
      return;
    calls_.push_back({stream, communication});
    if (!in_group_)
      end_group();
  }
  void end_group() {
    in_group_ = false;
    std::map<int, std::vector<int>> by_stream;
    for (const auto& [stream, communication] : calls_)
      by_stream[stream].push_back(communication);
    for (const auto& [stream, communications] : by_stream) {
      actions().push_back({Kind::communicate, stream, static_cast<int>(out_.joined_.size()),
                           static_cast<int>(communications.size())});
      out_.joined_.insert(out_.joined_.end(), communications.begin(), communications.end());
    }
    calls_.clear();
  }

  int collective(const model::CollectiveOp& op, int rank, int at) {
    const Group& group = groups_.at(static_cast<std::size_t>(op.communicator));
    if (std::find(group.members.begin(), group.members.end(), rank) == group.members.end())
      return -1;
    auto known = collectives_.find(at);
    if (known != collectives_.end())
      return known->second;
    const int n = static_cast<int>(group.members.size());
    const auto blocks = model::block_counts(op.collective, n);
    const Transfer transfer{.collective = op.collective,
                            .ranks = n,
                            .ranks_per_node = group.most_on_node,
                            .sharing = sharing(op, at, node_of_[static_cast<std::size_t>(rank)]),
                            .bytes =
                                op.count * model::size_bytes(op.type) *
                                static_cast<std::uint64_t>(std::max(blocks.send, blocks.receive))};
    int members = 0;
    for (int one : replayed_)
      members += std::find(group.members.begin(), group.members.end(), one) != group.members.end();
    collectives_[at] = static_cast<int>(out_.communications_.size());
    out_.communications_.push_back({transfer_number(transfer), members});
    return collectives_[at];
  }

  // Other communicators make the same call next to it.
  int sharing(const model::CollectiveOp& op, int at, int node) const {
    auto same = [&](int i) -> const model::CollectiveOp* {
      if (i < schedule_.timed.first || i >= schedule_.timed.last)
        return nullptr;
      const auto* other = std::get_if<model::CollectiveOp>(&operation(i).what);
      return other && other->collective == op.collective && other->stream == op.stream &&
                     other->count == op.count
                 ? other
                 : nullptr;
    };
    int first = at;
    while (same(first - 1))
      --first;
    std::set<int> communicators;
    for (int i = first; const auto* other = same(i); ++i)
      if (groups_.at(static_cast<std::size_t>(other->communicator)).on_node.contains(node))
        communicators.insert(other->communicator);
    return static_cast<int>(communicators.size());
  }

  template <typename Op>
  void message(const Op& op, int rank) {
    const Group& group = groups_.at(static_cast<std::size_t>(op.communicator));
    auto place = std::find(group.members.begin(), group.members.end(), rank);
    if (place == group.members.end())
      return;
    const int own = static_cast<int>(place - group.members.begin());
    const int size = static_cast<int>(group.members.size());
    constexpr bool sends = std::is_same_v<Op, model::SendOp>;
    int peer = 0;
    if constexpr (sends)
      peer = op.to.resolve(own, size);
    else
      peer = op.from.resolve(own, size);
    const int other = group.members.at(static_cast<std::size_t>(peer));
    const int from = sends ? rank : other, to = sends ? other : rank;
    const int number = messages_[{op.communicator, from, to, sends}]++;
    auto [found, is_new] = pending_.try_emplace({op.communicator, from, to, number}, 0);
    int communication = found->second;
    if (is_new) {
      const bool one_node =
          node_of_.at(static_cast<std::size_t>(from)) == node_of_.at(static_cast<std::size_t>(to));
      const Transfer transfer{.collective = model::Collective::send_recv,
                              .ranks = 2,
                              .ranks_per_node = one_node ? 2 : 1,
                              .bytes = op.count.at(own) * model::size_bytes(op.type)};
      communication = found->second = static_cast<int>(out_.communications_.size());
      out_.communications_.push_back({transfer_number(transfer), out_.alike_ ? 1 : 2});
    }
    if (!is_new || out_.alike_)
      pending_.erase(found);
    join(op.stream, communication);
  }

  const model::Schedule& schedule_;
  const std::vector<int>& node_of_;
  int world_;
  StepProgram out_;
  std::vector<Group> groups_; // by communicator
  std::vector<int> training_, replayed_;
  std::map<int, int> events_; // to numbers from 0
  std::map<Transfer, int> transfer_numbers_;
  std::map<int, int> collectives_;                        // communication, by operation
  std::map<std::tuple<int, int, int, int>, int> pending_; // communications that lack one side
  // Of the current rank.
  std::vector<std::pair<model::Activity, std::string>> open_; // by stream
  std::map<std::string, int> seen_;
  std::map<std::tuple<int, int, int, bool>, int> messages_;
  std::vector<std::pair<int, int>> calls_; // stream, communication: of the current group
  bool in_group_ = false;
  bool begun_ = false; // the first of several steps
};

Result<StepProgram> StepProgram::of(const model::Schedule& schedule,
                                    const std::vector<int>& node_of) {
  return ProgramMaker(schedule, node_of).make();
}

StepProgram::Times StepProgram::replay(const std::vector<double>& transfer_ns,
                                       const std::vector<double>& work_ns) const {
  Times times;
  run(transfer_ns, work_ns, times);
  return times;
}

bool StepProgram::run(const std::vector<double>& transfer_ns, const std::vector<double>& work_ns,
                      Times& times) const {
  struct Come {
    int members = 0;
    double begin_ns = 0;
  };
  struct Rank {
    std::vector<double> streams_ns, events_ns;
    std::size_t next = 0;
    int step = 0;
    bool waits = false; // it has reached the communications of its next action
    double begin_ns = 0;
    Pieces works_ns, communications_ns; // of the last step: begin, end
  };
  std::vector<Come> come(communications_.size() * k_steps);
  std::vector<Rank> ranks(actions_.size());
  for (Rank& rank : ranks) {
    rank.streams_ns.assign(static_cast<std::size_t>(streams_), 0);
    rank.events_ns.assign(static_cast<std::size_t>(events_), 0);
  }
  auto communication_of = [&](const Rank& rank,
                              int join) -> std::pair<const Communication&, Come&> {
    const auto number = static_cast<std::size_t>(joined_[static_cast<std::size_t>(join)]);
    return {communications_[number],
            come[static_cast<std::size_t>(rank.step) * communications_.size() + number]};
  };
  // False: another rank has not arrived yet.
  auto do_next = [&](Rank& rank, const Action& action) {
    double& now_ns = rank.streams_ns[static_cast<std::size_t>(action.stream)];
    const auto index = static_cast<std::size_t>(action.index);
    switch (action.kind) {
    case Action::Kind::work: {
      const double begin_ns = now_ns;
      now_ns += work_ns[index];
      if (rank.step == k_steps - 1 && is_computing(works_[index]))
        rank.works_ns.emplace_back(begin_ns, now_ns);
      break;
    }
    case Action::Kind::record:
      rank.events_ns[index] = now_ns;
      break;
    case Action::Kind::wait:
      now_ns = std::max(now_ns, rank.events_ns[index]);
      break;
    case Action::Kind::begin:
      rank.begin_ns = now_ns;
      break;
    case Action::Kind::communicate: {
      bool all_here = true;
      double end_ns = now_ns;
      for (int i = action.index; i < action.index + action.count; ++i) {
        auto [communication, who] = communication_of(rank, i);
        if (!rank.waits) {
          ++who.members;
          who.begin_ns = std::max(who.begin_ns, now_ns);
        }
        all_here = all_here && who.members == communication.members;
        end_ns = std::max(
            end_ns, who.begin_ns + transfer_ns[static_cast<std::size_t>(communication.transfer)]);
      }
      rank.waits = !all_here;
      if (!all_here)
        return false;
      if (rank.step == k_steps - 1)
        rank.communications_ns.emplace_back(now_ns, end_ns);
      now_ns = end_ns;
      break;
    }
    }
    return true;
  };
  times = {};
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t r = 0; r < ranks.size(); ++r) {
      Rank& rank = ranks[r];
      while (rank.step < k_steps) {
        if (rank.next == actions_[r].size()) {
          ++rank.step;
          rank.next = 0;
          moved = true;
          continue;
        }
        if (!do_next(rank, actions_[r][rank.next]))
          break;
        ++rank.next;
        moved = true;
      }
    }
  }
  for (Rank& rank : ranks) {
    if (rank.step < k_steps)
      return false;
    times.step_ns += (rank.streams_ns[0] - rank.begin_ns) / static_cast<double>(ranks.size());
    const double computing_ns = length_ns(rank.works_ns, rank.begin_ns);
    Pieces both = rank.works_ns;
    both.insert(both.end(), rank.communications_ns.begin(), rank.communications_ns.end());
    times.computing_ns += computing_ns / static_cast<double>(ranks.size());
    times.uncovered_ns +=
        (length_ns(both, rank.begin_ns) - computing_ns) / static_cast<double>(ranks.size());
  }
  return true;
}

} // namespace ncclprobe::analysis::cost_model
