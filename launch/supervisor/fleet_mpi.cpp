// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "base/log.h"
#include "launch/supervisor/finalize_limit.h"
#include "launch/supervisor/fleet.h"
#include "launch/supervisor/init_setting.h"
#include "launch/supervisor/mpi_segment.h"
#include "launch/supervisor/tree_fleet.h"

#include <climits>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <list>
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
// MPI_Init is over, so all supervisors run. This limit is for hosts that do not reach each other.
constexpr auto k_roll_call_patience = 60s;
// How long to wait for the others at the end of the job.
constexpr auto k_leave_patience = 30s;
// Open MPI's client (PMIx) waits two seconds for the launcher's last answer, then gives up.
constexpr auto k_late_launcher = 1900ms;
constexpr auto k_launcher_patience = 5s;
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

int number_of(int (*ask)(MPI_Comm, int*)) {
  int number = 0;
  NCCLPROBE_MPI(ask(MPI_COMM_WORLD, &number));
  return number;
}

class MpiFleet : public TreeFleet {
public:
  MpiFleet() : TreeFleet(number_of(MPI_Comm_rank), number_of(MPI_Comm_size), k_fan_out) {
    NCCLPROBE_MPI(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
    call_the_roll();
    leave_the_world();
    hide_segment();
  }
  ~MpiFleet() override { leave(); }

  std::string description() const override { return mpi_library(); }
  std::optional<ClockReading> compare_clocks() override;
  void leave() override;

  [[noreturn]] void abort(int exit_code) override {
    if (!left_)
      MPI_Abort(world_, exit_code);
    std::_Exit(exit_code);
  }

protected:
  void send(int to, const Bytes& bytes) override;
  std::optional<Arrived> receive() override;
  std::set<int> unsent() override;
  Network network() const override { return Network::mpi; }

private:
  struct Sending {
    int to = 0;
    Bytes bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Receiving {
    Arrived message;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void call_the_roll();
  void leave_the_world();
  void hide_segment();
  void move_sends_on();
  bool begin_receive(Receiving& into);
  enum class Wait { spin, sleep };
  bool receive_times(int from, int tag, std::int64_t* times, int count, Wait wait,
                     const base::Deadline& until);
  void send_times(int to, int tag, const std::int64_t* times, int count);
  std::optional<ClockReading> ask_clock(int parent, int tag, const base::Deadline& until);
  void answer_clock(int child, int tag, const ClockReading& own, const base::Deadline& until);

  MPI_Comm world_ = MPI_COMM_WORLD;
  std::list<Sending> sending_;
  std::optional<Receiving> receiving_; // one at a time keeps the order of messages
  int comparisons_ = 0;                // of clocks
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
          "rank {} on {}: all hosts reach rank 0, but some do not reach each other over MPI",
          rank(), hosts_.at(rank()));
  world_ = own;
  NCCLPROBE_MPI(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
}

// The launcher takes a process that exits before its last message was read as a failure, and kills
// the others. If the launcher did not answer in time, it must get the time to read the message.
void finalize() {
  const std::int64_t began_ns = base::monotonic_ns();
  {
    const FinalizeLimit limit;
    MPI_Finalize();
  }
  if (std::chrono::nanoseconds(base::monotonic_ns() - began_ns) < k_late_launcher)
    return;
  spdlog::debug("the launcher is late: waiting for it before this process ends");
  std::this_thread::sleep_for(k_launcher_patience);
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
    finalize();
  } catch (const Exception& error) {
    spdlog::error("leaving MPI: {}", error.what());
  }
}

void MpiFleet::send(int to, const Bytes& bytes) {
  Sending& message = sending_.emplace_back(Sending{to, bytes, MPI_REQUEST_NULL});
  NCCLPROBE_MPI(MPI_Isend(bytes->data(), int_size(bytes->size()), MPI_BYTE, to, k_message_tag,
                          world_, &message.request));
}

void MpiFleet::move_sends_on() {
  for (auto message = sending_.begin(); message != sending_.end();)
    message = done(message->request) ? sending_.erase(message) : std::next(message);
}

std::set<int> MpiFleet::unsent() {
  move_sends_on();
  std::set<int> receivers;
  for (const Sending& message : sending_)
    receivers.insert(message.to);
  return receivers;
}

bool MpiFleet::begin_receive(Receiving& into) {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  NCCLPROBE_MPI(MPI_Improbe(MPI_ANY_SOURCE, k_message_tag, world_, &found, &message, &status));
  if (found == 0)
    return false;
  int size = 0;
  NCCLPROBE_MPI(MPI_Get_count(&status, MPI_BYTE, &size));
  into.message.from = status.MPI_SOURCE;
  into.message.bytes.resize(size);
  NCCLPROBE_MPI(MPI_Imrecv(into.message.bytes.data(), size, MPI_BYTE, &message, &into.request));
  return true;
}

std::optional<TreeFleet::Arrived> MpiFleet::receive() {
  if (!sending_.empty())
    move_sends_on();
  if (!receiving_ && !begin_receive(receiving_.emplace()))
    receiving_.reset();
  // A large message arrives in pieces, and each needs a call.
  for (int i = 0; receiving_ && i < k_tests_per_poll; ++i) {
    if (!done(receiving_->request))
      continue;
    Arrived message = std::move(receiving_->message);
    receiving_.reset();
    return message;
  }
  return std::nullopt;
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
  for (int bit = 1; bit <= rank(); bit *= 2)
    highest_bit = bit;
  if (rank() > 0)
    own = ask_clock(rank() - highest_bit, tag, until);
  if (!own)
    return std::nullopt;
  for (int bit = std::max(1, 2 * highest_bit); rank() + bit < size(); bit *= 2)
    answer_clock(rank() + bit, tag, *own, until);
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
