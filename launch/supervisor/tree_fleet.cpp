// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/supervisor/tree_fleet.h"

#include "base/log.h"
#include "wire/packing.h"

#include <climits>

#include <algorithm>

namespace ncclprobe::launch {
namespace {

// How long reports are held that are not those of the whole branch yet: at first, and at most.
constexpr std::int64_t k_first_hold_ns = 5'000'000;
constexpr std::int64_t k_longest_hold_ns = 320'000'000;
// After a pause of this length reports are held briefly again.
constexpr std::int64_t k_pause_ns = 2'000'000'000;
// Messages of this many trials before the present one may still be missing somewhere.
constexpr int k_trials_kept = 2;
constexpr int k_most_per_pump = 256;
// Thousands of ranks report more samples than fit in memory. So what is held is sent on once it is
// this large, and no more than this is taken in before it is worked on.
constexpr std::size_t k_most_bytes_held = 1 << 20;
constexpr std::size_t k_most_bytes_per_pump = 4 << 20;

std::size_t bytes_of(const Up& report) {
  std::size_t bytes = report.bytes.size();
  for (const auto& [part, ranks] : report.parts)
    bytes += part.size();
  return bytes;
}

void join(Parts& into, Parts& parts) {
  into.merge(parts);
  for (const auto& [bytes, ranks] : parts) // those with the same bytes
    into[bytes].add(ranks);
}

} // namespace

TreeFleet::TreeFleet(int rank, int size, int fan_out)
    : rank_(rank), size_(size), fan_out_(fan_out), place_(place_in_tree(rank, size, fan_out)),
      parent_(place_.parent), pace_{k_first_hold_ns, 0}, reached_(place_.children) {}

void TreeFleet::post(int to, std::string bytes) {
  if (to == rank_) {
    inbox_.push_back({rank_, std::move(bytes), rank_, {}, true});
    return;
  }
  bytes.insert(bytes.begin(), static_cast<char>(MailKind::direct));
  send(to, std::make_shared<const std::string>(std::move(bytes)));
}

std::optional<ReceivedMessage> TreeFleet::poll() {
  if (inbox_.empty())
    pump();
  else
    flush_if_due();
  if (inbox_.empty()) {
    flush_down();
    return std::nullopt;
  }
  ReceivedMessage message = std::move(inbox_.front());
  inbox_.pop_front();
  return message;
}

void TreeFleet::pump() {
  std::size_t bytes = 0;
  for (int i = 0; i < k_most_per_pump && bytes < k_most_bytes_per_pump; ++i) {
    auto arrived = receive();
    if (!arrived)
      break;
    bytes += arrived->bytes.size();
    const int from = arrived->from;
    try {
      if (!take(std::move(*arrived)))
        spdlog::error("supervisor {} sent a message of an unknown kind", from);
    } catch (const Exception& error) {
      spdlog::error("a message of supervisor {} does not parse: {}", from, error.what());
    }
  }
  flush_if_due();
}

bool TreeFleet::take(Arrived arrived) {
  const std::string& mail = arrived.bytes;
  switch (mail.empty() ? MailKind{} : static_cast<MailKind>(mail.front())) {
  case MailKind::direct:
    inbox_.push_back({arrived.from, arrived.bytes.substr(1), arrived.from, {}, true});
    return true;
  case MailKind::down:
    take_down(std::move(arrived.bytes));
    return true;
  case MailKind::up:
    take_up(wire::unpack<Bundle>(std::string_view(mail).substr(1)));
    return true;
  case MailKind::adopt:
    parent_ = arrived.from;
    for (const Kept& one : sent_up_)
      send(parent_, one.mail);
    flush();
    return true;
  }
  return false;
}

// Down.

void TreeFleet::tell(const RankSet& to, int trial, Keep keep, When when, std::string bytes) {
  send_down({0, 0, trial, to, std::move(bytes)}, keep, when);
}

void TreeFleet::send_down(Down down, Keep keep, When when) {
  down.sequence = ++sequence_;
  forget_before(down.trial);
  const bool for_us = down.gather == 0 && (down.to.empty() || down.to.contains(rank_));
  std::string own = for_us ? down.bytes : "";
  to_send_down_.push_back({std::move(down), keep});
  if (when == When::now || inbox_.empty())
    flush_down();
  if (for_us)
    inbox_.push_back({rank_, std::move(own), rank_});
}

void TreeFleet::flush_down() {
  if (to_send_down_.empty())
    return;
  DownBundle bundle;
  for (Told& told : std::exchange(to_send_down_, {})) {
    if (told.keep == Keep::yes && size_ > 1)
      sent_down_.push_back(told.down);
    bundle.messages.push_back(std::move(told.down));
  }
  pass_down(reached_, bundle, std::make_shared<const std::string>(encode_mail(bundle)));
}

// To each branch what is for somebody in it. Often that is all, and `mail` has it already.
void TreeFleet::pass_down(const std::vector<Branch>& branches, const DownBundle& bundle,
                          const Bytes& mail) {
  for (const Branch& branch : branches) {
    DownBundle wanted;
    auto is_wanted = [&](const Down& down) {
      return down.to.empty() || down.to.meets(branch.first, branch.end);
    };
    if (std::ranges::all_of(bundle.messages, is_wanted)) {
      send(branch.first, mail);
      continue;
    }
    std::ranges::copy_if(bundle.messages, std::back_inserter(wanted.messages), is_wanted);
    if (!wanted.messages.empty())
      send(branch.first, std::make_shared<const std::string>(encode_mail(wanted)));
  }
}

void TreeFleet::take_down(std::string mail) {
  auto bundle = wire::unpack<DownBundle>(std::string_view(mail).substr(1));
  if (!std::ranges::all_of(bundle.messages,
                           [this](const Down& down) { return down.to.sound(size_); }))
    raise(Errc::protocol, "ranks that do not exist");
  if (bundle.messages.empty() || bundle.messages.back().sequence <= sequence_)
    return; // it came on another way
  auto passed_on = std::make_shared<const std::string>(std::move(mail));
  if (std::erase_if(bundle.messages, [&](const Down& down) { return down.sequence <= sequence_; }) >
      0)
    passed_on = std::make_shared<const std::string>(encode_mail(bundle));
  pass_down(place_.children, bundle, passed_on);
  for (Down& down : bundle.messages) {
    sequence_ = down.sequence;
    forget_before(down.trial);
    if (!down.to.empty() && !down.to.contains(rank_))
      continue;
    if (down.gather != 0)
      answers_[down.gather] = std::move(down.bytes);
    else
      inbox_.push_back({0, std::move(down.bytes), 0});
  }
}

// What belongs to no trial stays.
void TreeFleet::forget_before(int trial) {
  auto old = [first = std::int64_t{trial} - k_trials_kept](const auto& one) {
    return one.gather == 0 && one.trial > 0 && one.trial < first;
  };
  std::erase_if(sent_up_, old);
  std::erase_if(sent_down_, old);
  std::erase_if(seen_, [&](const auto& one) { return old(one.second); });
}

// Up.

void TreeFleet::report(Report report) {
  Up up{0,
        report.trial,
        report.keep == Keep::yes,
        rank_,
        std::move(report.bytes),
        std::move(report.parts)};
  if (rank_ == 0)
    deliver(std::move(up));
  else
    hold(std::move(up));
  pump(); // whoever reports may be at work for long: what others sent meanwhile goes on
}

void TreeFleet::take_up(Bundle bundle) {
  for (Up& report : bundle.reports) {
    bool sound = report.from.sound(size_) && !report.from.empty();
    for (const auto& [bytes, ranks] : report.parts)
      sound = sound && ranks.sound(INT_MAX);
    if (!sound)
      raise(Errc::protocol, "ranks that do not exist");
    if (rank_ == 0)
      deliver(std::move(report));
    else
      hold(std::move(report));
  }
}

// On the leader.
void TreeFleet::deliver(Up report) {
  if (report.gather == 0) {
    const int first = report.from.first();
    inbox_.push_back(
        {first, std::move(report.bytes), std::move(report.from), std::move(report.parts)});
    return;
  }
  if (report.gather <= gathers_ended_)
    return;
  Up& all = gathering_[report.gather];
  all.from.add(report.from);
  join(all.parts, report.parts);
}

// What a supervisor says later stays behind what it said before, also if others said it earlier.
void TreeFleet::hold(Up report) {
  held_bytes_ += bytes_of(report);
  auto same = std::find_if(held_.rbegin(), held_.rend(), [&](const Up& one) {
    return one.from.meets(report.from) ||
           (one.gather == report.gather && one.trial == report.trial && one.bytes == report.bytes);
  });
  if (same != held_.rend() && same->gather == report.gather && same->trial == report.trial &&
      same->bytes == report.bytes) {
    same->from.add(report.from);
    join(same->parts, report.parts);
  } else {
    held_.push_back(std::move(report));
    same = held_.rbegin();
  }
  Seen& seen = seen_[same->gather == 0 ? same->bytes : "gather " + std::to_string(same->gather)];
  seen.gather = same->gather;
  seen.trial = same->trial;
  seen.from.add(same->from);
  if (seen.from.covers(rank_, place_.end)) {
    seen.from = {};
    due_ns_ = 1; // now
    return;
  }
  if (held_bytes_ >= k_most_bytes_held)
    return flush();
  if (due_ns_ != 0)
    return;
  const std::int64_t now = now_ns();
  if (now - pace_.since_ns > k_pause_ns)
    pace_.interval_ns = k_first_hold_ns;
  due_ns_ = now + pace_.interval_ns;
  pace_.interval_ns = std::min(2 * pace_.interval_ns, k_longest_hold_ns);
  pace_.since_ns = due_ns_;
}

void TreeFleet::flush_if_due() {
  if (due_ns_ != 0 && now_ns() >= due_ns_)
    flush();
}

void TreeFleet::flush() {
  due_ns_ = 0;
  held_bytes_ = 0;
  if (held_.empty())
    return;
  Bundle bundle{std::exchange(held_, {})};
  auto mail = std::make_shared<const std::string>(encode_mail(bundle));
  send(parent_, mail);
  Kept kept{0, 0, mail};
  for (const Up& report : bundle.reports) {
    kept.gather = std::max(kept.gather, report.gather);
    kept.trial = std::max(kept.trial, report.trial);
  }
  if (std::erase_if(bundle.reports, [](const Up& report) { return !report.keep; }) > 0)
    kept.mail = std::make_shared<const std::string>(encode_mail(bundle));
  if (!bundle.reports.empty())
    sent_up_.push_back(std::move(kept));
}

// Supervisors that do not pass on what they should.

void TreeFleet::adopt(int rank) {
  if (rank == 0 || adopted_.contains(rank))
    return;
  adopted_.add(rank);
  const TreePlace place = place_of(rank);
  if (place.parent != 0) {
    reached_.push_back({rank, place.end});
    send(rank, std::make_shared<const std::string>(1, static_cast<char>(MailKind::adopt)));
  }
  if (place.parent == 0)
    return;
  flush_down();
  const DownBundle again{{sent_down_.begin(), sent_down_.end()}};
  if (!again.messages.empty())
    pass_down({{rank, place.end}}, again, std::make_shared<const std::string>(encode_mail(again)));
}

// The first child is the next rank, which is most likely on the same lost host.
void TreeFleet::bypass_branch(int rank) {
  bypassed_.add(rank);
  adopt(rank);
  for (const Branch& child : place_of(rank).children) {
    adopt(child.first);
    if (child.first == rank + 1)
      bypass_branch(child.first);
  }
}

// Everybody below one that does not pass messages on is silent too. So those highest in the tree
// are bypassed first; who is still silent the next time is silent for a reason of its own.
void TreeFleet::bypass(const RankSet& silent) {
  const RankSet before = bypassed_;
  silent.each([&](int rank) {
    if (rank == 0 || bypassed_.contains(rank))
      return;
    const int parent = place_of(rank).parent;
    if (parent == 0 || before.contains(parent) || !silent.contains(parent))
      bypass_branch(rank);
  });
}

} // namespace ncclprobe::launch
