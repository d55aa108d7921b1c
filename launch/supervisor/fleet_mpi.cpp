// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "base/log.h"
#include "launch/supervisor/finalize_limit.h"
#include "launch/supervisor/fleet.h"
#include "launch/supervisor/gathered.h"
#include "launch/supervisor/init_setting.h"
#include "launch/supervisor/mpi_segment.h"
#include "launch/supervisor/no_answer.h"
#include "launch/supervisor/patient_sleep.h"
#include "wire/packing.h"

#include <climits>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <deque>
#include <list>
#include <map>
#include <optional>
#include <set>

// The only file that uses MPI. Every call here except those of hide_segment() returns at once; code
// that waits tests, then sleeps.
namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

constexpr int k_message_tag = 1;
// Each comparison of clocks has its own tag, so messages left over from an earlier one are never
// received.
constexpr int k_clock_tag = 2;
constexpr int k_clock_tags = 16'384;
constexpr int k_pings = 100;
// How long to wait for a late supervisor; shorter than the silence after which it counts as lost.
constexpr auto k_clock_patience = 3s;
// Beyond it, the other side has no CPU; spinning would keep this one from it.
constexpr auto k_spin = 200us;
constexpr int k_gather_tag = k_clock_tag + k_clock_tags;
// MPI_Init is over, so all supervisors run. This limit is for hosts that do not reach each other.
constexpr auto k_roll_call_patience = 60s;
// How long one answer of a gather may take.
constexpr auto k_answer_patience = 30s;
// How long to wait for the others at the end of the job.
constexpr auto k_leave_patience = 30s;
// How often to test a request in one poll.
constexpr int k_tests_per_poll = 64;

Error mpi_error(const char* call, int code) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, words, &length);
  return {Errc::unavailable, fmt::format("{}: {}", call, words), {}};
}

void check(const char* call, int code) {
  if (code != MPI_SUCCESS)
    throw Exception(mpi_error(call, code));
}
#define NCCLPROBE_MPI(call) check(#call, call)

int int_size(std::size_t size) {
  if (size > INT_MAX)
    raise(Errc::invalid_argument, "a message of {} bytes is more than MPI can count", size);
  return static_cast<int>(size);
}

bool done(MPI_Request& request) {
  int done = 0;
  NCCLPROBE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
  return done != 0;
}

bool finish(MPI_Request& request, const base::Deadline& until = base::Deadline::never()) {
  for (PatientSleep rest; !done(request); rest())
    if (until.expired())
      return false;
  return true;
}

class MpiFleet : public Fleet {
public:
  MpiFleet() {
    NCCLPROBE_MPI(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
    NCCLPROBE_MPI(MPI_Comm_rank(world_, &rank_));
    NCCLPROBE_MPI(MPI_Comm_size(world_, &size_));
    call_the_roll();
    leave_the_world();
    hide_segment();
  }
  ~MpiFleet() override { leave(); }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string description() const override;
  void post(int to, std::string bytes) override;
  std::optional<ReceivedMessage> poll() override;
  Result<std::vector<std::string>> all_gather(std::string bytes,
                                              std::chrono::nanoseconds patience) override;
  std::optional<ClockReading> compare_clocks() override;

  void leave_alone() override { alone_ = true; }
  void leave() override;

  [[noreturn]] void abort(int exit_code) override {
    if (!left_)
      MPI_Abort(world_, exit_code);
    std::_Exit(exit_code);
  }

private:
  struct Sending {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Receiving {
    ReceivedMessage message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void call_the_roll();
  void leave_the_world();
  void hide_segment();
  void move_sends_on();
  bool begin_receive(int from, int tag, Receiving& into);
  void gather_parts(std::map<int, std::string>& parts, const base::Deadline& until);
  bool give_to(const std::map<int, std::string>& parts, const std::string& answer,
               std::set<int>& unreached);
  Result<std::vector<std::string>> gather_here(std::string bytes,
                                               std::chrono::nanoseconds patience);
  Result<std::vector<std::string>> hand_in(std::string bytes, std::chrono::nanoseconds patience);
  enum class Wait { spin, sleep };
  bool receive_times(int from, int tag, std::int64_t* times, int count, Wait wait,
                     const base::Deadline& until);
  void send_times(int to, int tag, const std::int64_t* times, int count);
  std::optional<ClockReading> ask_clock(int parent, int tag, const base::Deadline& until);
  void answer_clock(int child, int tag, const ClockReading& own, const base::Deadline& until);

  MPI_Comm world_ = MPI_COMM_WORLD;
  std::vector<std::string> hosts_; // by rank; empty before the roll call
  int rank_ = 0;
  int size_ = 1;
  std::list<Sending> sending_;
  std::optional<Receiving> receiving_; // one at a time keeps the order of messages
  std::deque<ReceivedMessage> own_;
  std::list<Receiving> gathering_; // requests that never complete stay: MPI may still write there
  std::list<Sending> unread_;      // and MPI may still read here
  int comparisons_ = 0;            // of clocks
  bool alone_ = false;             // do not wait for the others
  bool left_ = false;
  std::optional<MpiSegment> segment_;
};

// The first messages between hosts. If MPI sent the first ones itself, it would wait for ever.
void MpiFleet::call_the_roll() {
  char name[MPI_MAX_PROCESSOR_NAME] = "";
  int length = 0;
  NCCLPROBE_MPI(MPI_Get_processor_name(name, &length));
  auto names =
      all_gather(std::string(name, static_cast<std::size_t>(length)), k_roll_call_patience);
  if (!names)
    throw Exception(names.error());
  hosts_ = std::move(*names);
}

// Duplicates the communicator, to be apart from everybody else's messages.
void MpiFleet::leave_the_world() {
  MPI_Comm own = MPI_COMM_NULL;
  MPI_Request request = MPI_REQUEST_NULL;
  NCCLPROBE_MPI(MPI_Comm_idup(MPI_COMM_WORLD, &own, &request));
  if (!finish(request, base::Deadline::after(k_roll_call_patience)))
    raise(Errc::unavailable,
          "rank {} on {}: all hosts reach rank 0, but some do not reach each other over MPI", rank_,
          hosts_.at(rank_));
  world_ = own;
  NCCLPROBE_MPI(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
}

void MpiFleet::hide_segment() {
  MPI_Comm host = MPI_COMM_NULL;
  NCCLPROBE_MPI(MPI_Comm_split_type(world_, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host));
  int rank_on_host = 0;
  NCCLPROBE_MPI(MPI_Comm_rank(host, &rank_on_host));
  NCCLPROBE_MPI(MPI_Barrier(host)); // all have mapped it
  segment_.emplace(rank_on_host);
  segment_->remove_name();
  MPI_Comm_free(&host);
}

// First a gather, because it has a time limit, can name who is missing, and does not spin as
// MPI_Finalize does.
void MpiFleet::leave() {
  if (std::exchange(left_, true))
    return;
  try {
    PatientSleep rest;
    // A supervisor that has already left does not read its last message. Do not wait for it.
    for (base::Deadline end = base::Deadline::after(alone_ ? 500ms : 2000ms);
         !sending_.empty() && !end.expired(); rest())
      move_sends_on();
    if (alone_)
      return;
    if (auto all = all_gather("", k_leave_patience); !all) {
      spdlog::error("at the end of the job: {}", all.error().text());
      return;
    }
    MPI_Comm_free(&world_);
    segment_->restore_name();
    const FinalizeLimit limit;
    MPI_Finalize();
  } catch (const Exception& error) {
    spdlog::error("leaving MPI: {}", error.what());
  }
}

std::string MpiFleet::description() const {
  return mpi_library();
}

void MpiFleet::post(int to, std::string bytes) {
  if (to == rank_) {
    own_.push_back({rank_, std::move(bytes)});
    return;
  }
  Sending& message = sending_.emplace_back();
  message.bytes = std::move(bytes);
  NCCLPROBE_MPI(MPI_Isend(message.bytes.data(), int_size(message.bytes.size()), MPI_BYTE, to,
                          k_message_tag, world_, &message.request));
}

void MpiFleet::move_sends_on() {
  for (auto message = sending_.begin(); message != sending_.end();)
    message = done(message->request) ? sending_.erase(message) : std::next(message);
}

bool MpiFleet::begin_receive(int from, int tag, Receiving& into) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  NCCLPROBE_MPI(MPI_Improbe(from, tag, world_, &found, &message, &status));
  if (found == 0)
    return false;
  int size = 0;
  NCCLPROBE_MPI(MPI_Get_count(&status, MPI_BYTE, &size));
  into.message.from = status.MPI_SOURCE;
  into.message.bytes.resize(size);
  NCCLPROBE_MPI(MPI_Imrecv(into.message.bytes.data(), size, MPI_BYTE, &message, &into.request));
  return true;
}

std::optional<ReceivedMessage> MpiFleet::poll() {
  if (!own_.empty()) {
    ReceivedMessage message = std::move(own_.front());
    own_.pop_front();
    return message;
  }
  if (!sending_.empty())
    move_sends_on();
  if (!receiving_ && !begin_receive(MPI_ANY_SOURCE, k_message_tag, receiving_.emplace()))
    receiving_.reset();
  // A large message arrives in pieces, and each needs a call.
  for (int i = 0; receiving_ && i < k_tests_per_poll; ++i) {
    if (!done(receiving_->request))
      continue;
    ReceivedMessage message = std::move(receiving_->message);
    receiving_.reset();
    return message;
  }
  return std::nullopt;
}

Result<std::vector<std::string>> MpiFleet::all_gather(std::string bytes,
                                                      std::chrono::nanoseconds patience) {
  if (alone_)
    return fail(Errc::unavailable, "the other supervisors no longer answer");
  alone_ = true; // reset on success; stays true if MPI throws
  auto all =
      rank_ == 0 ? gather_here(std::move(bytes), patience) : hand_in(std::move(bytes), patience);
  alone_ = !all;
  return all;
}

void MpiFleet::gather_parts(std::map<int, std::string>& parts, const base::Deadline& until) {
  for (PatientSleep rest; static_cast<int>(parts.size()) < size_ && !until.expired(); rest()) {
    while (begin_receive(MPI_ANY_SOURCE, k_gather_tag, gathering_.emplace_back())) {
    }
    gathering_.pop_back();
    for (auto one = gathering_.begin(); one != gathering_.end();) {
      bool whole = done(one->request);
      if (whole)
        parts[one->message.from] = std::move(one->message.bytes);
      one = whole ? gathering_.erase(one) : std::next(one);
    }
  }
}

// Sends the result to all that contributed.
bool MpiFleet::give_to(const std::map<int, std::string>& parts, const std::string& answer,
                       std::set<int>& unreached) {
  const std::string& bytes = unread_.emplace_back(Sending{answer, MPI_REQUEST_NULL}).bytes;
  std::map<int, MPI_Request> sends;
  for (const auto& [rank, part] : parts)
    if (rank != 0)
      NCCLPROBE_MPI(MPI_Isend(bytes.data(), int_size(bytes.size()), MPI_BYTE, rank, k_gather_tag,
                              world_, &sends[rank]));
  base::Deadline until = base::Deadline::after(k_answer_patience); // counts from the last answer
  for (PatientSleep rest; !sends.empty() && !until.expired(); rest())
    for (auto one = sends.begin(); one != sends.end();) {
      bool whole = done(one->second);
      if (whole)
        until = base::Deadline::after(k_answer_patience);
      one = whole ? sends.erase(one) : std::next(one);
    }
  for (const auto& [rank, request] : sends)
    unreached.insert(rank);
  if (sends.empty())
    unread_.pop_back();
  return sends.empty();
}

Result<std::vector<std::string>> MpiFleet::gather_here(std::string bytes,
                                                       std::chrono::nanoseconds patience) {
  std::map<int, std::string> parts;
  parts[0] = std::move(bytes);
  gather_parts(parts, base::Deadline::after(patience));
  std::set<int> missing;
  for (int rank = 0; rank < size_; ++rank)
    if (!parts.contains(rank))
      missing.insert(rank);
  std::optional<Error> problem;
  if (!missing.empty())
    problem = no_answer(missing, hosts_, patience, Network::mpi);
  const Gathered answer =
      problem ? Gathered{problem->message, problem->hint, {}} : Gathered{"", "", parts};
  if (!give_to(parts, wire::pack(answer), missing) && !problem)
    problem = no_answer(missing, hosts_, k_answer_patience, Network::mpi);
  if (problem)
    return fail(std::move(*problem));
  std::vector<std::string> all;
  for (auto& [rank, part] : parts)
    all.push_back(std::move(part));
  return all;
}

// Waits for twice the patience, because rank 0 may have begun to wait that much later.
Result<std::vector<std::string>> MpiFleet::hand_in(std::string bytes,
                                                   std::chrono::nanoseconds patience) {
  Sending& own = unread_.emplace_back(Sending{std::move(bytes), MPI_REQUEST_NULL});
  NCCLPROBE_MPI(MPI_Isend(own.bytes.data(), int_size(own.bytes.size()), MPI_BYTE, 0, k_gather_tag,
                          world_, &own.request));
  const std::chrono::nanoseconds longest = 2 * patience + k_answer_patience;
  base::Deadline until = base::Deadline::after(longest);
  Receiving& answer = gathering_.emplace_back();
  bool matched = false;
  bool whole = false;
  for (PatientSleep rest; !whole; rest()) {
    if (until.expired())
      return fail(no_answer({0}, hosts_, longest, Network::mpi));
    (void)done(own.request); // makes progress
    matched = matched || begin_receive(0, k_gather_tag, answer);
    whole = matched && done(answer.request);
  }
  if (finish(own.request, until))
    unread_.pop_back();
  std::string told = std::move(answer.message.bytes);
  gathering_.pop_back();
  Gathered gathered = wire::unpack<Gathered>(told);
  if (!gathered.problem.empty())
    return fail(Error{Errc::unavailable, gathered.problem, gathered.hint});
  std::vector<std::string> all;
  for (auto& [rank, part] : gathered.parts)
    all.push_back(std::move(part));
  return all;
}

void MpiFleet::send_times(int to, int tag, const std::int64_t* times, int count) {
  NCCLPROBE_MPI(MPI_Send(times, count, MPI_INT64_T, to, tag, world_)); // small: never waits
}

bool MpiFleet::receive_times(int from, int tag, std::int64_t* times, int count, Wait wait,
                             const base::Deadline& until) {
  MPI_Request request = MPI_REQUEST_NULL;
  NCCLPROBE_MPI(MPI_Irecv(times, count, MPI_INT64_T, from, tag, world_, &request));
  PatientSleep rest;
  const base::Deadline spin = base::Deadline::after(k_spin);
  for (int done = 0; true;) {
    NCCLPROBE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0)
      return true;
    if (until.expired())
      break;
    if (wait == Wait::sleep)
      rest();
    else if (spin.expired())
      std::this_thread::yield();
  }
  NCCLPROBE_MPI(MPI_Cancel(&request));
  NCCLPROBE_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return false;
}

// The child asks, because it knows when it sent and received. The parent's answer lies between.
std::optional<ClockReading> MpiFleet::ask_clock(int parent, int tag, const base::Deadline& until) {
  std::int64_t word = 0;
  send_times(parent, tag, &word, 1); // "here I am"
  if (!receive_times(parent, tag, &word, 1, Wait::sleep, until))
    return std::nullopt;
  std::vector<ClockPing> pings(k_pings);
  for (ClockPing& ping : pings) {
    ping.sent_ns = base::monotonic_ns();
    send_times(parent, tag, &ping.sent_ns, 1);
    if (!receive_times(parent, tag, &ping.answered_ns, 1, Wait::spin, until))
      return std::nullopt;
    ping.heard_ns = base::monotonic_ns();
  }
  std::int64_t of_parent[3]; // its offset, error and the age of both
  if (!receive_times(parent, tag, of_parent, 3, Wait::spin, until))
    return std::nullopt;
  return compose(envelope_of(pings), {0, of_parent[0], of_parent[1], 0}, of_parent[2]);
}

void MpiFleet::answer_clock(int child, int tag, const ClockReading& own,
                            const base::Deadline& until) {
  std::int64_t word = 0;
  if (!receive_times(child, tag, &word, 1, Wait::sleep, until))
    return; // it will give up as well
  send_times(child, tag, &word, 1);
  for (int i = 0; i < k_pings; ++i) {
    if (!receive_times(child, tag, &word, 1, Wait::spin, until))
      return;
    std::int64_t now_ns = base::monotonic_ns();
    send_times(child, tag, &now_ns, 1);
  }
  std::int64_t told[3] = {own.offset_ns, own.error_ns, base::monotonic_ns() - own.at_ns};
  send_times(child, tag, told, 3);
}

// A binomial tree: the parent of a rank is the rank without its highest bit.
std::optional<ClockReading> MpiFleet::compare_clocks() {
  int tag = k_clock_tag + comparisons_++ % k_clock_tags;
  base::Deadline until = base::Deadline::after(k_clock_patience);
  std::optional<ClockReading> own = ClockReading{base::monotonic_ns(), 0, 0, 0};
  int highest_bit = 0; // of our rank
  for (int bit = 1; bit <= rank_; bit *= 2)
    highest_bit = bit;
  if (rank_ > 0)
    own = ask_clock(rank_ - highest_bit, tag, until);
  if (!own)
    return std::nullopt;
  for (int bit = std::max(1, 2 * highest_bit); rank_ + bit < size_; bit *= 2)
    answer_clock(rank_ + bit, tag, *own, until);
  return own;
}

} // namespace

std::string mpi_library() {
  char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(words, &length); // also before MPI_Init
  std::string text(words, static_cast<std::size_t>(length));
  text = text.substr(0, text.find_first_of(",\n"));
  std::ranges::replace(text, '\t', ' ');
  return text;
}

Result<std::unique_ptr<Fleet>> make_mpi_fleet(int* argc, char*** argv) {
  // A supervisor must not map libcuda, because a wedged GPU would stop the run. Open MPI and the
  // plugins of its hwloc would load it.
  InitSetting cuda("OMPI_MCA_opal_cuda_support", "0");
  InitSetting components("HWLOC_COMPONENTS", "-cuda,-nvml,-opencl,-gl,-rsmi,-levelzero");
  InitSetting accelerator("OMPI_MCA_accelerator", "null"); // Open MPI 5
  InitSetting plugins(
      "HWLOC_PLUGINS_BLACKLIST",
      "hwloc_cuda.so,hwloc_nvml.so,hwloc_opencl.so,hwloc_gl.so,hwloc_rsmi.so,hwloc_levelzero.so");
  int level = MPI_THREAD_SINGLE;
  if (int code = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level); code != MPI_SUCCESS)
    return fail(mpi_error("MPI_Init_thread", code));
  if (level < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    return fail(Errc::unavailable, "this MPI does not allow a program to have threads");
  }
  try {
    return std::make_unique<MpiFleet>();
  } catch (const Exception& error) {
    return fail(error.error());
  }
}

} // namespace ncclprobe::launch
