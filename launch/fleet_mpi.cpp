// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/clock.h"
#include "base/log.h"
#include "launch/fleet.h"
#include "launch/mpi_segment.h"

#include <climits>
#include <mpi.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <deque>
#include <list>
#include <string_view>
#include <thread>
#include <unistd.h>

// The only file that knows MPI. Every call here returns at once; whoever waits tests, then sleeps.
namespace ncclprobe::launch {
namespace {

using namespace std::chrono_literals;

constexpr int k_mail_tag = 1;
// Each comparison of clocks has its own tag, so that what an earlier one left over is never heard.
constexpr int k_clock_tag = 2;
constexpr int k_clock_tags = 16'384;
constexpr int k_pings = 100;
constexpr auto k_clock_patience = 5s; // with a supervisor that is late
// What an MPI library is asked before it is given up on.
constexpr int k_tests_per_poll = 64;

base::Error mpi_error(const char* call, int code) {
  char words[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, words, &length);
  return {base::Errc::unavailable, fmt::format("{}: {}", call, words), {}};
}

void check(const char* call, int code) {
  if (code != MPI_SUCCESS)
    throw base::Exception(mpi_error(call, code));
}
#define NCCLPROBE_MPI(call) check(#call, call)

int int_size(std::size_t size) {
  if (size > INT_MAX)
    base::raise(base::Errc::invalid_argument, "a mail of {} bytes is more than MPI can count",
                size);
  return static_cast<int>(size);
}

// Sleeps for a fiftieth of what has been waited already, so that waiting costs little either way.
class PatientSleep {
public:
  void operator()() {
    auto wait = std::clamp<std::chrono::nanoseconds>(
        std::chrono::nanoseconds((base::monotonic_ns() - since_ns_) / 50), 50us, 10ms);
    std::this_thread::sleep_for(wait);
  }

private:
  std::int64_t since_ns_ = base::monotonic_ns();
};

void finish(MPI_Request& request) {
  PatientSleep rest;
  for (int done = 0; true; rest()) {
    NCCLPROBE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0)
      return;
  }
}

class MpiFleet : public Fleet {
public:
  MpiFleet() {
    NCCLPROBE_MPI(MPI_Comm_dup(MPI_COMM_WORLD, &world_)); // nobody else's messages
    NCCLPROBE_MPI(MPI_Comm_set_errhandler(world_, MPI_ERRORS_RETURN));
    NCCLPROBE_MPI(MPI_Comm_rank(world_, &rank_));
    NCCLPROBE_MPI(MPI_Comm_size(world_, &size_));
    hide_segment();
  }
  ~MpiFleet() override;

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  std::string description() const override;
  void post(int to, std::string bytes) override;
  std::optional<Mail> poll() override;
  std::vector<std::string> all_gather(std::string bytes) override;
  std::optional<ClockReading> compare_clocks() override;

  void leave_alone() override { alone_ = true; }

  [[noreturn]] void abort(int exit_code) override {
    MPI_Abort(world_, exit_code);
    std::_Exit(exit_code);
  }

private:
  struct Sending {
    std::string bytes;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  struct Receiving {
    Mail mail;
    MPI_Request request = MPI_REQUEST_NULL;
  };
  void hide_segment();
  void move_sends_on();
  void begin_receive();
  enum class Wait { spin, sleep };
  bool receive_times(int from, int tag, std::int64_t* times, int count, Wait wait,
                     const base::Deadline& until);
  void send_times(int to, int tag, const std::int64_t* times, int count);
  std::optional<ClockReading> ask_clock(int parent, int tag, const base::Deadline& until);
  void answer_clock(int child, int tag, const ClockReading& own, const base::Deadline& until);

  MPI_Comm world_ = MPI_COMM_NULL;
  int rank_ = 0;
  int size_ = 1;
  std::list<Sending> sending_;
  std::optional<Receiving> receiving_; // one at a time keeps the order of mails
  std::deque<Mail> own_;
  int comparisons_ = 0; // of clocks
  bool alone_ = false;  // the others are not waited for
  std::optional<MpiSegment> segment_;
};

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

// Test-then-sleep up to here, because MPI_Finalize spins until the last rank has come.
MpiFleet::~MpiFleet() {
  try {
    PatientSleep rest;
    // A supervisor that has already left does not read its last mail; it is not waited for.
    for (base::Deadline end = base::Deadline::after(2s); !sending_.empty() && !end.expired();
         rest())
      move_sends_on();
    if (alone_)
      return;
    MPI_Request barrier = MPI_REQUEST_NULL;
    NCCLPROBE_MPI(MPI_Ibarrier(world_, &barrier));
    finish(barrier);
    MPI_Comm_free(&world_);
    segment_->restore_name();
    MPI_Finalize();
  } catch (const base::Exception& error) {
    spdlog::error("leaving MPI: {}", error.what());
  }
}

std::string MpiFleet::description() const {
  char words[MPI_MAX_LIBRARY_VERSION_STRING] = "";
  int length = 0;
  MPI_Get_library_version(words, &length);
  std::string text(words, static_cast<std::size_t>(length));
  text = text.substr(0, text.find_first_of(",\n"));
  std::replace(text.begin(), text.end(), '\t', ' ');
  return text;
}

void MpiFleet::post(int to, std::string bytes) {
  if (to == rank_) {
    own_.push_back({rank_, std::move(bytes)});
    return;
  }
  Sending& mail = sending_.emplace_back();
  mail.bytes = std::move(bytes);
  NCCLPROBE_MPI(MPI_Isend(mail.bytes.data(), int_size(mail.bytes.size()), MPI_BYTE, to, k_mail_tag,
                          world_, &mail.request));
}

void MpiFleet::move_sends_on() {
  for (auto mail = sending_.begin(); mail != sending_.end();) {
    int done = 0;
    NCCLPROBE_MPI(MPI_Test(&mail->request, &done, MPI_STATUS_IGNORE));
    mail = done != 0 ? sending_.erase(mail) : std::next(mail);
  }
}

void MpiFleet::begin_receive() {
  int found = 0;
  MPI_Message message = MPI_MESSAGE_NULL;
  MPI_Status status;
  NCCLPROBE_MPI(MPI_Improbe(MPI_ANY_SOURCE, k_mail_tag, world_, &found, &message, &status));
  if (found == 0)
    return;
  int size = 0;
  NCCLPROBE_MPI(MPI_Get_count(&status, MPI_BYTE, &size));
  receiving_.emplace();
  receiving_->mail.from = status.MPI_SOURCE;
  receiving_->mail.bytes.resize(static_cast<std::size_t>(size));
  NCCLPROBE_MPI(
      MPI_Imrecv(receiving_->mail.bytes.data(), size, MPI_BYTE, &message, &receiving_->request));
}

std::optional<Mail> MpiFleet::poll() {
  if (!own_.empty()) {
    Mail mail = std::move(own_.front());
    own_.pop_front();
    return mail;
  }
  if (!sending_.empty())
    move_sends_on();
  if (!receiving_)
    begin_receive();
  // A large mail comes in pieces, each of which needs a call.
  for (int i = 0; receiving_ && i < k_tests_per_poll; ++i) {
    int done = 0;
    NCCLPROBE_MPI(MPI_Test(&receiving_->request, &done, MPI_STATUS_IGNORE));
    if (done == 0)
      continue;
    Mail mail = std::move(receiving_->mail);
    receiving_.reset();
    return mail;
  }
  return std::nullopt;
}

std::vector<std::string> MpiFleet::all_gather(std::string bytes) {
  int own_size = int_size(bytes.size());
  std::vector<int> sizes(static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  NCCLPROBE_MPI(MPI_Iallgather(&own_size, 1, MPI_INT, sizes.data(), 1, MPI_INT, world_, &request));
  finish(request);
  std::vector<int> starts;
  std::size_t total = 0;
  for (int size : sizes) {
    starts.push_back(int_size(total));
    total += static_cast<std::size_t>(size);
  }
  std::string all(static_cast<std::size_t>(int_size(total)), '\0');
  NCCLPROBE_MPI(MPI_Iallgatherv(bytes.data(), own_size, MPI_BYTE, all.data(), sizes.data(),
                                starts.data(), MPI_BYTE, world_, &request));
  finish(request);
  std::vector<std::string> result;
  for (std::size_t i = 0; i < sizes.size(); ++i)
    result.push_back(
        all.substr(static_cast<std::size_t>(starts[i]), static_cast<std::size_t>(sizes[i])));
  return result;
}

void MpiFleet::send_times(int to, int tag, const std::int64_t* times, int count) {
  NCCLPROBE_MPI(MPI_Send(times, count, MPI_INT64_T, to, tag, world_)); // small: never waits
}

bool MpiFleet::receive_times(int from, int tag, std::int64_t* times, int count, Wait wait,
                             const base::Deadline& until) {
  MPI_Request request = MPI_REQUEST_NULL;
  NCCLPROBE_MPI(MPI_Irecv(times, count, MPI_INT64_T, from, tag, world_, &request));
  PatientSleep rest;
  for (int done = 0; true;) {
    NCCLPROBE_MPI(MPI_Test(&request, &done, MPI_STATUS_IGNORE));
    if (done != 0)
      return true;
    if (until.expired())
      break;
    if (wait == Wait::sleep)
      rest();
  }
  NCCLPROBE_MPI(MPI_Cancel(&request));
  NCCLPROBE_MPI(MPI_Wait(&request, MPI_STATUS_IGNORE));
  return false;
}

// The child asks: it knows when it sent and heard, and the parent's answer is between.
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

// A variable for the time of MPI_Init, unless the user has set it.
class InitSetting {
public:
  InitSetting(const char* name, const char* value) : name_(name), ours_(!is_set(name)) {
    if (ours_)
      ::setenv(name, value, 0);
  }
  InitSetting(const InitSetting&) = delete;
  ~InitSetting() {
    if (ours_)
      ::unsetenv(name_);
  }

private:
  static bool is_set(std::string_view name) {
    for (char** entry = environ; *entry != nullptr; ++entry) {
      std::string_view text = *entry;
      if (text.substr(0, text.find('=')) == name)
        return true;
    }
    return false;
  }

  const char* name_;
  bool ours_;
};

} // namespace

base::Result<std::unique_ptr<Fleet>> make_mpi_fleet(int* argc, char*** argv) {
  // A supervisor must not map libcuda: a wedged GPU would take the run with it. Open MPI and the
  // plugins of its hwloc would load it.
  InitSetting cuda("OMPI_MCA_opal_cuda_support", "0");
  InitSetting components("HWLOC_COMPONENTS", "-cuda,-nvml,-opencl,-gl,-rsmi,-levelzero");
  InitSetting accelerator("OMPI_MCA_accelerator", "null"); // Open MPI 5
  InitSetting plugins(
      "HWLOC_PLUGINS_BLACKLIST",
      "hwloc_cuda.so,hwloc_nvml.so,hwloc_opencl.so,hwloc_gl.so,hwloc_rsmi.so,hwloc_levelzero.so");
  int level = MPI_THREAD_SINGLE;
  if (int code = MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &level); code != MPI_SUCCESS)
    return base::fail(mpi_error("MPI_Init_thread", code));
  if (level < MPI_THREAD_FUNNELED) {
    MPI_Finalize();
    return base::fail(base::Errc::unavailable, "this MPI does not allow a program to have threads");
  }
  try {
    return std::make_unique<MpiFleet>();
  } catch (const base::Exception& error) {
    return base::fail(error.error());
  }
}

} // namespace ncclprobe::launch
