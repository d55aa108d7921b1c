// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "analysis/step_marks/exchanges.h"

#include "analysis/timeline/schedule_messages.h"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

namespace ncclprobe::analysis::steps {
namespace {

class Finder {
public:
  Finder(const model::Schedule& schedule, int world_size, StepPlan& plan)
      : schedule_(schedule), plan_(plan), sides_(message_sides(schedule, world_size)) {
    for (std::size_t i = 0; i < plan.stretches.size(); ++i)
      for (int k = plan.stretches[i].begin + 1; k < plan.stretches[i].end; ++k)
        stretches_around_[k].push_back(static_cast<int>(i));
  }

  void find() {
    pair_up();
    for (auto& [own, messages] : messages_of_) {
      // A single kernel does all at once; several sequential kernels add up.
      const bool one_after_other = messages.launches.size() > 1 && messages.partners.size() > 1;
      const bool all_train = std::ranges::all_of(messages.partners, [&](const RankStretch& one) {
        return model::names_rank(plan_.ranks, one.rank);
      });
      if (!messages.are_known || one_after_other || messages.partners.empty() || !all_train ||
          has_collective(own))
        continue;
      plan_.stretches[own.declaration].exchanges.push_back(
          {own.rank,
           {messages.partners.begin(), messages.partners.end()},
           is_complete(own, messages.partners)});
    }
  }

private:
  struct Messages {
    std::set<RankStretch> partners;
    std::set<int> launches;
    bool are_known = true;
  };

  // The stretch of a side.
  const int* declaration_of(const MessageSide& side) const {
    auto around = stretches_around_.find(side.operation);
    if (around == stretches_around_.end())
      return nullptr;
    auto found = std::ranges::find_if(around->second, [&](int declaration) {
      const StretchDecl& stretch = plan_.stretches[declaration];
      return stretch.activity == model::Activity::communication && stretch.stream == side.stream &&
             model::names_rank(stretch.ranks, side.rank);
    });
    return found == around->second.end() ? nullptr : &*found;
  }

  void pair_up() {
    using Key = std::tuple<int, int, int, std::uint32_t>; // communicator, from, to, number
    std::map<Key, std::pair<const MessageSide*, const MessageSide*>> messages;
    for (const MessageSide& side : sides_) {
      auto& [send, receive] = messages[{side.communicator, side.from, side.to, side.number}];
      (side.sends ? send : receive) = &side;
    }
    for (const auto& [key, message] : messages) {
      const auto& [send, receive] = message;
      plan_.unmatched_messages += send == nullptr || receive == nullptr;
      for (auto [own, other] : {std::pair{send, receive}, std::pair{receive, send}}) {
        const int* declaration = own == nullptr ? nullptr : declaration_of(*own);
        if (declaration == nullptr)
          continue;
        Messages& into = messages_of_[{own->rank, *declaration}];
        into.launches.insert(own->launched_with);
        const int* theirs = other == nullptr ? nullptr : declaration_of(*other);
        if (theirs == nullptr)
          into.are_known = false;
        else if (other->rank != own->rank)
          into.partners.insert({other->rank, *theirs});
      }
    }
  }

  bool has_collective(const RankStretch& own) const {
    const StretchDecl& stretch = plan_.stretches[own.declaration];
    for (int i = stretch.begin + 1; i < stretch.end; ++i) {
      const model::Operation& operation = schedule_.operations[i];
      const auto* collective = std::get_if<model::CollectiveOp>(&operation.what);
      if (collective != nullptr && collective->stream == stretch.stream &&
          model::names_rank(operation.ranks, own.rank))
        return true;
    }
    return false;
  }

  bool is_complete(const RankStretch& own, const std::set<RankStretch>& partners) const {
    std::set<RankStretch> all = partners;
    all.insert(own);
    return std::ranges::all_of(partners, [&](const RankStretch& partner) {
      auto found = messages_of_.find(partner);
      return found != messages_of_.end() && found->second.partners.size() + 1 == all.size() &&
             std::includes(all.begin(), all.end(), found->second.partners.begin(),
                           found->second.partners.end());
    });
  }

  const model::Schedule& schedule_;
  StepPlan& plan_;
  std::vector<MessageSide> sides_;
  std::map<int, std::vector<int>> stretches_around_; // by operation
  std::map<RankStretch, Messages> messages_of_;
};

} // namespace

void find_exchanges(const model::Schedule& schedule, int world_size, StepPlan& plan) {
  Finder(schedule, world_size, plan).find();
}

} // namespace ncclprobe::analysis::steps
