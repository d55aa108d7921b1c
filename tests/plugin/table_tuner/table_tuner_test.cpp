// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "plugin/tuner/nccl_tuner.h"
#include "tuning/hit_counts.h"
#include "tuning/table_file.h"

#include "base/atomic_file.h"
#include "base/sha256.h"
#include "support/catch.h"
#include "support/scratch_folder.h"

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <string>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>
#include <vector>

using namespace ncclprobe;
using namespace ncclprobe::test;

// What NCCL says of itself, for the plugin.
extern "C" int ncclGetVersion(int* version) {
  *version = 23007;
  return 0;
}

// The built library, loaded and called as NCCL does in a program that does not know it. Each
// program is a child process, because the library stays until its process ends.
namespace {

using tuning::Algorithm;
using tuning::Protocol;

struct Job {
  support::ScratchFolder folder;
  tuning::Table table;
  std::filesystem::path file = folder / "table.csv";
  std::string variable; // NCCLPROBE_TUNER_TABLE; empty: that of the written table
  std::string hits = (folder / "hits.csv").string();
  std::vector<std::pair<std::string, std::string>> environment;

  Job() {
    table.header.gpu = "NVIDIA H200";
    table.header.nccl = "2.30.7";
    table.rows = {row(1024, 2047, Algorithm::tree, Protocol::ll, 4),
                  row(2048, 4095, Algorithm::ring, Protocol::ll128, tuning::k_keep_channels),
                  row(8192, 8192, Algorithm::nvls, Protocol::ll, 4)};
  }
  static tuning::Row row(std::uint64_t min, std::uint64_t max, Algorithm algorithm,
                         Protocol protocol, int channels) {
    return {model::Collective::all_reduce,       min,      max,         8, 1, std::nullopt,
            tuning::Choice{algorithm, protocol}, channels, std::nullopt};
  }
  // Writes the file and names it.
  void write() {
    REQUIRE(base::write_file_atomically(file, to_text(table)));
    std::filesystem::permissions(file, std::filesystem::perms(0644));
    variable = to_text(tuning::TableReference{file, base::sha256(to_text(table))});
  }
  tuning::HitCounts counts() const {
    auto text = base::read_text(hits);
    REQUIRE(text);
    return tuning::parse_hit_counts(*text, hits).value();
  }
};

struct Ended {
  int status = 0;
  std::string words;  // on stderr
  std::string logged; // through NCCL's logger
};

std::FILE* log_file = nullptr; // of the child
void log_as_nccl(int level, unsigned long, const char*, int, const char* format, ...) {
  std::fprintf(log_file, "%d ", level);
  va_list arguments;
  va_start(arguments, format);
  std::vfprintf(log_file, format, arguments);
  va_end(arguments);
  std::fputc('\n', log_file);
}

template <typename Tuner>
Tuner* load(const char* symbol) {
  void* library = dlopen(NCCLPROBE_TUNER, RTLD_NOW | RTLD_LOCAL);
  return library == nullptr ? nullptr : static_cast<Tuner*>(dlsym(library, symbol));
}

// `act` takes interface 6 and returns the exit code.
template <typename Act>
Ended in_job(const Job& job, Act act) {
  const std::string words = (job.folder / "stderr").string(), log = (job.folder / "log").string();
  pid_t child = fork();
  if (child == 0) {
    log_file = std::fopen(log.c_str(), "w");
    if (std::freopen(words.c_str(), "w", stderr) == nullptr || log_file == nullptr)
      _exit(98);
    if (!job.variable.empty())
      setenv("NCCLPROBE_TUNER_TABLE", job.variable.c_str(), 1);
    setenv("NCCLPROBE_TUNER_HITS", job.hits.c_str(), 1);
    for (const auto& [name, value] : job.environment)
      setenv(name.c_str(), value.c_str(), 1);
    auto* tuner = load<ncclTuner_v6_t>("ncclTunerPlugin_v6");
    std::exit(tuner == nullptr ? 99 : act(*tuner)); // NOLINT: the library's end is looked at
  }
  Ended ended;
  REQUIRE(waitpid(child, &ended.status, 0) == child);
  ended.words = base::read_text(words).value();
  ended.logged = base::read_text(log).value();
  return ended;
}

void* open(ncclTuner_v6_t& tuner, std::size_t ranks = 8, std::size_t nodes = 1) {
  void* context = nullptr;
  const int local = static_cast<int>(ranks / nodes);
  ncclNvlDomainInfo_t domains{static_cast<int>(nodes), local, local};
  ncclTunerConstants_t constants{};
  const int result = tuner.init(&context, 42, ranks, nodes, log_as_nccl, &domains, &constants);
  return result == 0 ? context : nullptr;
}

Costs ask(ncclTuner_v6_t& tuner, void* context, std::size_t bytes, int function = ncclFuncAllReduce,
          int operations = 1) {
  Costs costs;
  if (tuner.getCollInfo(context, function, bytes, operations, costs.table(), 7, 3, 0,
                        &costs.channels) != 0)
    std::exit(97);
  return costs;
}

// A rank whose communicator is not created. NCCL still calls finalize.
int refused(ncclTuner_v6_t& tuner) {
  void* context = &context;
  const int result = tuner.init(&context, 42, 8, 1, log_as_nccl, nullptr, nullptr);
  return result != 0 && context == nullptr && tuner.finalize(nullptr) == 0 ? 0 : 1;
}

} // namespace

TEST_CASE("calls that were measured get the table's choice, all others NCCL's") {
  Job job;
  job.write();
  Ended ended = in_job(job, [](ncclTuner_v6_t& tuner) {
    void* context = open(tuner);
    if (context == nullptr)
      return 1;
    Costs tree = ask(tuner, context, 1024);
    if (tree.taken() != Taken{NCCL_ALGO_TREE, NCCL_PROTO_LL} || tree.channels != 4 ||
        tree.us[NCCL_ALGO_TREE][NCCL_PROTO_LL] != 0)
      return 2;
    Costs ring = ask(tuner, context, 4095);
    if (ring.taken() != Taken{NCCL_ALGO_RING, NCCL_PROTO_LL128} || ring.channels != 0)
      return 3;
    if (!(ask(tuner, context, 8192) == Costs())) // NCCL offers no NVLS with LL
      return 4;
    for (std::size_t bytes : {0, 1023, 4096, 8193})
      if (!(ask(tuner, context, bytes) == Costs()))
        return 5;
    if (!(ask(tuner, context, 1024, ncclFuncBroadcast) == Costs()) ||
        !(ask(tuner, context, 1024, 5) == Costs()))
      return 6;
    void* other = open(tuner, 16, 2);
    if (other == nullptr || !(ask(tuner, other, 1024) == Costs()))
      return 7;
    return tuner.finalize(context) + tuner.finalize(other);
  });

  CHECK(ended.status == 0);
  CHECK(ended.words.empty());
  auto counts = job.counts();
  CHECK(counts.sha256 == base::sha256(to_text(job.table)));
  CHECK(counts.rows == std::vector<tuning::RowHits>{{1, 0}, {1, 0}, {0, 1}});
  CHECK(counts.without_row == 7);
  CHECK(counts.set_aside == 0);
}

TEST_CASE("every interface decides by the table") {
  Job job;
  job.write();
  Ended ended = in_job(job, [](ncclTuner_v6_t&) {
    auto right = [](const Costs& costs) {
      return costs.taken() == Taken{NCCL_ALGO_TREE, NCCL_PROTO_LL} && costs.channels == 4;
    };
    void* context = nullptr;
    Costs v3, v4, v5;
    auto* third = load<ncclTuner_v3_t>("ncclTunerPlugin_v3");
    if (third->init(8, 1, log_as_nccl, &context) != 0 ||
        third->getCollInfo(context, 4, 1024, 1, v3.table(), 7, 3, &v3.channels) != 0 ||
        !right(v3) || third->destroy(context) != 0)
      return 3;
    auto* fourth = load<ncclTuner_v4_t>("ncclTunerPlugin_v4");
    if (fourth->init(8, 1, log_as_nccl, &context) != 0 ||
        fourth->getCollInfo(context, 4, 1024, 1, v4.table(), 7, 3, 0, &v4.channels) != 0 ||
        !right(v4) || fourth->destroy(context) != 0)
      return 4;
    auto* fifth = load<ncclTuner_v5_t>("ncclTunerPlugin_v5");
    ncclNvlDomainInfo_t domains{1, 8, 8};
    if (fifth->init(&context, 1, 8, 1, log_as_nccl, &domains, nullptr) != 0 ||
        fifth->getCollInfo(context, 4, 1024, 1, v5.table(), 7, 3, 0, &v5.channels) != 0 ||
        !right(v5) || fifth->finalize(context) != 0)
      return 5;
    return 0;
  });
  CHECK(ended.status == 0);
  CHECK(job.counts().rows[0].applied == 3);
}

TEST_CASE("rows for certain NVLink domains apply to these alone") {
  Job job;
  job.table.rows[0].domains = tuning::NvlinkDomains{1, 8, 8};
  job.write();
  Ended ended = in_job(job, [](ncclTuner_v6_t& tuner) {
    if (ask(tuner, open(tuner), 1024).channels != 4)
      return 1;
    void* context = nullptr;
    ncclNvlDomainInfo_t domains{1, 7, 9};
    tuner.init(&context, 42, 8, 1, log_as_nccl, &domains, nullptr);
    return ask(tuner, context, 1024) == Costs() ? 0 : 2;
  });
  CHECK(ended.status == 0);
}

TEST_CASE("a rank without exactly this table creates no communicator, and says why") {
  Job job;
  job.write();
  std::string why;
  SECTION("no variable") {
    job.variable.clear();
    why = "NCCLPROBE_TUNER_TABLE is not set";
  }
  SECTION("a malformed variable") {
    job.variable = job.file.string();
    why = "NCCLPROBE_TUNER_TABLE: ";
  }
  SECTION("the file is missing") {
    std::filesystem::remove(job.file);
    why = "No such file";
  }
  SECTION("another file") {
    job.table.rows.pop_back();
    REQUIRE(base::write_file_atomically(job.file, to_text(job.table)));
    why = "differs from the table";
  }
  SECTION("every user may write it") {
    std::filesystem::permissions(job.file, std::filesystem::perms(0666));
    why = "may be written by every user";
  }
  SECTION("malformed, on every rank alike") {
    REQUIRE(base::write_file_atomically(job.file, "nonsense\n"));
    job.variable = to_text(tuning::TableReference{job.file, base::sha256("nonsense\n")});
    why = "table.csv:1: ";
  }

  Ended ended = in_job(job, refused);

  CHECK(ended.status == 0);
  CHECK_THAT(ended.words,
             Catch::Matchers::StartsWith("ncclprobe tuner: ") && ContainsSubstring(why));
  CHECK(std::count(ended.words.begin(), ended.words.end(), '\n') == 1);
  CHECK_THAT(ended.logged, Catch::Matchers::StartsWith("2 ") && ContainsSubstring(why)); // WARN
  CHECK_FALSE(std::filesystem::exists(job.hits));
}

TEST_CASE("a table of another NCCL stands aside with one warning") {
  Job job;
  job.table.header.nccl = "2.28.3";
  job.write();
  auto act = [](ncclTuner_v6_t& tuner) {
    for (int i = 0; i < 2; ++i) {
      void* context = open(tuner);
      if (context == nullptr || !(ask(tuner, context, 1024) == Costs()))
        return 1;
      tuner.finalize(context);
    }
    return 0;
  };

  Ended first = in_job(job, act);
  CHECK(first.status == 0);
  CHECK_THAT(first.words, ContainsSubstring("2.28.3") && ContainsSubstring("2.30.7"));
  CHECK(std::count(first.words.begin(), first.words.end(), '\n') == 1);
  CHECK(job.counts().rows[0] == tuning::RowHits{});

  job.environment = {{"RANK", "3"}}; // another rank speaks
  CHECK(in_job(job, act).words.empty());
}

TEST_CASE("on a machine for which NCCL estimates other times, the table stands aside") {
  Job job;
  job.table.rows[0].estimate = tuning::Estimate{10, 20}; // NCCL says 30 us here
  job.table.rows[1].estimate = tuning::Estimate{25, 35};
  job.write();
  Ended ended = in_job(job, [](ncclTuner_v6_t& tuner) {
    void* context = open(tuner);
    for (int i = 0; i < 3; ++i)
      if (!(ask(tuner, context, 1024) == Costs()))
        return 1;
    return ask(tuner, context, 3000).taken() == Taken{NCCL_ALGO_RING, NCCL_PROTO_LL128} ? 0 : 2;
  });
  CHECK(ended.status == 0);
  CHECK_THAT(ended.words, ContainsSubstring("NVIDIA H200"));
  CHECK(std::count(ended.words.begin(), ended.words.end(), '\n') == 1);
  CHECK(job.counts().set_aside == 3);
}

TEST_CASE("a group of operations was not measured, so it keeps NCCL's choice") {
  Job job;
  job.table.rows[0].estimate = tuning::Estimate{30, 30}; // as NCCL says here
  job.write();
  Ended ended = in_job(job, [](ncclTuner_v6_t& tuner) {
    void* context = open(tuner);
    const Taken chosen{NCCL_ALGO_TREE, NCCL_PROTO_LL};
    if (!(ask(tuner, context, 1024).taken() == chosen))
      return 1;
    for (int operations : {2, 8})
      if (!(ask(tuner, context, 1024, ncclFuncAllReduce, operations) == Costs()))
        return 2;
    // By a row without an estimate, no machine is told from others anyway.
    return ask(tuner, context, 3000, ncclFuncAllReduce, 2) == Costs() ? 3 : 0;
  });
  CHECK(ended.status == 0);
  CHECK(ended.words.empty());
  CHECK(job.counts().without_row == 2);
}

TEST_CASE("a table without a machine decides on any") {
  Job job;
  job.table.header = {};
  job.write();
  CHECK(in_job(job, [](ncclTuner_v6_t& tuner) {
          return ask(tuner, open(tuner), 1024).channels == 4 ? 0 : 1;
        }).status == 0);
}

TEST_CASE("threads with communicators of their own lose no count") {
  Job job;
  job.write();
  Ended ended = in_job(job, [](ncclTuner_v6_t& tuner) {
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&tuner, &wrong] {
        for (int turn = 0; turn < 5; ++turn) {
          void* context = open(tuner);
          for (int call = 0; call < 1000; ++call)
            wrong += ask(tuner, context, 1024).channels == 4 ? 0 : 1;
          tuner.finalize(context);
        }
      });
    for (auto& thread : threads)
      thread.join();
    return wrong.load();
  });
  CHECK(ended.status == 0);
  CHECK(job.counts().rows[0].applied == 20'000);
}

TEST_CASE("a program that ends without closing its communicators leaves its hits") {
  Job job;
  job.hits = (job.folder / "hits-%p.csv").string();
  job.write();
  Ended ended = in_job(job, [](ncclTuner_v6_t& tuner) {
    return ask(tuner, open(tuner), 1024).channels == 4 ? 0 : 1;
  });
  CHECK(ended.status == 0);
  std::string name;
  for (const std::string& one : support::names_in(job.folder.path()))
    if (one.starts_with("hits-"))
      name = one;
  REQUIRE(!name.empty());
  CHECK_THAT(name, !ContainsSubstring("%"));
  job.hits = (job.folder / name).string();
  CHECK(job.counts().rows[0].applied == 1);
}

TEST_CASE("hits that cannot be written fail no communicator") {
  Job job;
  job.hits = (job.folder / "missing" / "hits.csv").string();
  job.write();
  Ended ended = in_job(job, [](ncclTuner_v6_t& tuner) { return tuner.finalize(open(tuner)); });
  CHECK(ended.status == 0);
  CHECK_THAT(ended.words, ContainsSubstring("NCCLPROBE_TUNER_HITS: "));
  CHECK(std::count(ended.words.begin(), ended.words.end(), '\n') == 1);
}
