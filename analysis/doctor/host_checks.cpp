// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

// What the host and its container provide to a rank: shared memory, limits, control groups.
#include "analysis/doctor/check_results.h"
#include "analysis/doctor/facts.h"
#include "base/readable_bytes.h"
#include "base/text_layout.h"

#include <algorithm>

namespace ncclprobe::analysis::doctor {
namespace {

// Docker's default is 64 MiB. What NCCL needs depends on its channels, buffers and transports. The
// rest are our limits: lower values are suspicious.
constexpr std::uint64_t k_docker_default_bytes = std::uint64_t{64} << 20;
constexpr std::uint64_t k_shared_bytes_per_rank = std::uint64_t{32} << 20;
constexpr std::int64_t k_stale_after_s = 3600;
constexpr std::uint64_t k_least_open_files = 1024;
constexpr std::uint64_t k_comfortable_open_files = 65'536;
constexpr std::uint64_t k_large_stack_bytes = std::uint64_t{1} << 30;

void check_shared_memory(const Case& one, const model::Survey& survey, CheckResults& into) {
  const auto& shared = survey.host->shared_memory;
  if (!shared) {
    into.add_host(survey, {"D15",
                           CheckStatus::fail,
                           {"shm_missing", "there is no /dev/shm"},
                           {"/dev/shm: not there"},
                           "NCCL cannot pass data or handles between processes on the host",
                           "mount -t tmpfs -o size=16g tmpfs /dev/shm"});
    return;
  }
  if (!shared->problem.empty())
    into.add_host(survey,
                  {"D15",
                   CheckStatus::fail,
                   {"shm_not_writable", "no file can be created in /dev/shm"},
                   {"/dev/shm: " + shared->problem},
                   "NCCL cannot pass data or handles between processes on the host",
                   "ls -ld /dev/shm; mount -o remount,rw,mode=1777 /dev/shm (administrator); in a "
                   "container: its /dev/shm must not be mounted read-only"});
  std::uint64_t ranks = 0;
  for (const model::Survey& other : one.surveys)
    if (other.inventory.same_host(survey.inventory))
      ranks += other.ranks.size();
  std::uint64_t wanted = std::max<std::uint64_t>(ranks, 1) * k_shared_bytes_per_rank;
  std::string seen =
      fmt::format("/dev/shm: {} MiB, {} MiB free, for {}; our limit is {} MiB free per rank",
                  shared->size_bytes >> 20, shared->free_bytes >> 20,
                  base::count_of(ranks, "rank", "ranks"), k_shared_bytes_per_rank >> 20);
  bool small = shared->size_bytes <= k_docker_default_bytes;
  if (shared->free_bytes < wanted || small) {
    bool hopeless = shared->free_bytes < wanted / 4;
    into.add_host(survey,
                  {"D15",
                   hopeless ? CheckStatus::fail : CheckStatus::warn,
                   small ? What("shm_is_default", "/dev/shm is as small as a container's default")
                         : What("shm_short", "/dev/shm has little free space"),
                   {seen},
                   "NCCL fails with 'unhandled system error' or 'No space left on device' "
                   "when its shared-memory transport or a data loader needs /dev/shm",
                   small ? "docker run --shm-size=16g ... (or --ipc=host)"
                         : "ls -l /dev/shm, and remove files that no job uses"});
  } else if (shared->problem.empty()) {
    into.add_host(
        survey, {"D15", CheckStatus::ok, {"shm_enough", "/dev/shm has enough free space"}, {seen}});
  }
  if (shared->removed_at_logout == true)
    into.add_host(survey,
                  {"D15",
                   CheckStatus::info,
                   {"logind_removes_shm",
                    "logind removes a user's shared memory when their last session ends"},
                   {"RemoveIPC in systemd's logind.conf is on"},
                   "ranks that outlive the login (nohup, started over ssh) lose their segments: "
                   "'unlink shared memory ... failed'",
                   "loginctl enable-linger USER, or RemoveIPC=no in /etc/systemd/logind.conf"});
  std::uint64_t stale_bytes = 0;
  std::vector<std::string> stale;
  for (const model::SharedSegment& segment : shared->segments)
    if (segment.age_s >= k_stale_after_s) {
      stale_bytes += segment.bytes;
      stale.push_back(fmt::format("{} ({} bytes, {} h old, user {})", segment.name, segment.bytes,
                                  segment.age_s / 3600, segment.owner));
    }
  if (stale.empty())
    return;
  into.add_host(survey,
                {"D15", CheckStatus::info,
                 What("shm_leftovers",
                      "{segments} old segments of communication libraries are left in /dev/shm",
                      {{"segments", stale.size()}, {"wasted_mib", stale_bytes >> 20}}),
                 stale, "{wasted_mib} MiB of memory is wasted, if no running job uses them",
                 "fuser /dev/shm/NAME shows which processes use one; remove unused ones"});
}

const model::Limit* limit_of(const model::Survey& survey, std::string_view name) {
  for (const model::Limit& limit : survey.process.limits)
    if (limit.name == name)
      return &limit;
  return nullptr;
}

bool has_rdma(const Case& one, const model::Survey& survey) {
  const model::HostSurvey* host = one.host_of(survey);
  return host != nullptr && !host->rdma.empty();
}

// A shell can raise its own limit up to the hard limit.
Words more_open_files(const model::Limit& files) {
  if (!files.hard || *files.hard >= k_comfortable_open_files)
    return "ulimit -n {comfortable}";
  return "nofile {comfortable} in /etc/security/limits.d or the batch system; docker run --ulimit "
         "nofile={comfortable}";
}

void check_limits(const Case& one, const model::Survey& survey, CheckResults& into) {
  if (survey.process.limits.empty()) {
    into.add(survey,
             {"D16", CheckStatus::unknown, {"limits_unknown", "/proc/self/limits cannot be read"}});
    return;
  }
  bool good = true;
  const model::Limit* memlock = limit_of(survey, "memlock");
  if (memlock != nullptr && memlock->soft) {
    bool needed = has_rdma(one, survey);
    good = false;
    into.add(survey,
             {"D16",
              needed ? CheckStatus::fail : CheckStatus::info,
              What("memlock_limited", "locked memory is limited to {limit}",
                   {{"limit", base::readable_bytes(*memlock->soft)}}),
              {fmt::format("ulimit -l: {} KiB", *memlock->soft / 1024)},
              needed ? "registering memory with an RDMA adapter fails (ibv_reg_mr, 'Cannot "
                       "allocate memory')"
                     : "none here: no RDMA adapter registers memory",
              needed ? "ulimit -l unlimited, in /etc/security/limits.d or the batch system; "
                       "docker run --ulimit memlock=-1"
                     : ""});
  }
  const model::Limit* files = limit_of(survey, "nofile");
  if (files != nullptr && files->soft && *files->soft < k_comfortable_open_files) {
    bool tight = *files->soft < k_least_open_files;
    good = false;
    into.add(survey,
             {"D16",
              tight ? CheckStatus::warn : CheckStatus::info,
              What("few_open_files", "{files} files may be open at once",
                   {{"files", *files->soft}, {"comfortable", k_comfortable_open_files}}),
              {fmt::format("ulimit -n: {}, at most {} (our limits: {} are comfortable, fewer than "
                           "{} too few)",
                           *files->soft, files->hard ? std::to_string(*files->hard) : "unlimited",
                           k_comfortable_open_files, k_least_open_files)},
              "each peer and channel needs a socket: large jobs end with 'Too many open files'",
              more_open_files(*files)});
  }
  const model::Limit* stack = limit_of(survey, "stack");
  if (stack != nullptr && (!stack->soft || *stack->soft > k_large_stack_bytes)) {
    good = false;
    into.add(survey, {"D16",
                      CheckStatus::warn,
                      {"stack_unlimited", "the stack size is unlimited"},
                      {fmt::format("ulimit -s: {}", stack->soft ? base::readable_bytes(*stack->soft)
                                                                : std::string("unlimited"))},
                      "NCCL and MPI use this as the stack size of their threads: out of memory, or "
                      "a segmentation fault at start",
                      "ulimit -s 8192"});
  }
  if (good)
    into.add(survey, {"D16", CheckStatus::ok, {"limits_enough", "no limit is too low"}});
}

void check_container(const Case& one, const model::Survey& survey, CheckResults& into) {
  const model::Confinement& limits = survey.process.confinement;
  bool good = true;
  if (limits.numa_calls_allowed == false) {
    good = false;
    into.add(survey,
             {"D17",
              CheckStatus::warn,
              {"numa_calls_denied", "this container is not allowed to make NUMA system calls"},
              {"get_mempolicy(2): Operation not permitted"},
              "NCCL cannot place host memory near its GPU: cuMem host allocations fail or "
              "use the wrong node",
              "docker run --cap-add SYS_NICE ..., or NCCL_CUMEM_HOST_ENABLE=0"});
  }
  if (limits.memory_limit_bytes && limits.memory_used_bytes &&
      *limits.memory_used_bytes > *limits.memory_limit_bytes / 10 * 9) {
    good = false;
    into.add(survey,
             {"D17",
              CheckStatus::warn,
              {"cgroup_memory_full", "this control group has almost reached its memory limit"},
              {fmt::format("{} MiB of {} MiB", *limits.memory_used_bytes >> 20,
                           *limits.memory_limit_bytes >> 20)},
              "the kernel kills a rank, and the others hang in the collective",
              "raise the limit: docker run --memory, or the batch job's --mem"});
  }
  if (limits.pids_limit && limits.pids_used &&
      *limits.pids_limit - std::min(*limits.pids_limit, *limits.pids_used) < 512) {
    good = false;
    into.add(survey,
             {"D17",
              CheckStatus::warn,
              {"cgroup_processes_full", "this control group has almost reached its process limit"},
              {fmt::format("{} of {} are in use", *limits.pids_used, *limits.pids_limit)},
              "NCCL starts several threads per communicator: 'Resource temporarily unavailable'",
              "docker run --pids-limit=-1 ..."});
  }
  std::size_t threads = 2 * survey.ranks.size(); // a rank and its proxy
  if (limits.cpus && *limits.cpus < static_cast<double>(threads)) {
    good = false;
    into.add(survey,
             {"D17",
              CheckStatus::warn,
              What("cgroup_cpus", "{cpus:.3g} CPUs for {ranks} of this process",
                   {{"cpus", *limits.cpus},
                    {"ranks", base::count_of(survey.ranks.size(), "rank", "ranks")}}),
              {"CPU quota of the control group"},
              "proxies and launches wait for CPU time: latency jumps by a quota period (100 ms)",
              "docker run --cpus, or the batch job's --cpus-per-task"});
  }
  const model::HostSurvey* host = one.host_of(survey);
  bool has_gpu_files =
      host != nullptr &&
      std::any_of(host->driver.device_files.begin(), host->driver.device_files.end(),
                  [](const std::string& file) { return file == "/dev/nvidiactl"; });
  bool has_uvm = host != nullptr &&
                 std::any_of(host->driver.device_files.begin(), host->driver.device_files.end(),
                             [](const std::string& file) { return file == "/dev/nvidia-uvm"; });
  if (has_gpu_files && !has_uvm) {
    good = false;
    into.add(survey, {"D17",
                      CheckStatus::fail,
                      {"uvm_missing", "/dev/nvidia-uvm does not exist"},
                      {"/dev/nvidiactl exists, /dev/nvidia-uvm does not"},
                      "cuInit fails with error 999 although nvidia-smi works",
                      "nvidia-modprobe -u -c=0 on the host, then restart the container"});
  }
  if (has_gpu_files && host->driver.nvidia_pci_devices == 0) {
    good = false;
    into.add(survey, {"D17",
                      CheckStatus::warn,
                      {"gpus_not_in_sys", "/sys shows none of the GPUs"},
                      {"/dev/nvidiactl exists, but /sys/bus/pci/devices has no NVIDIA device"},
                      "NCCL finds no switches and NUMA nodes, and ncclprobe topo shows little",
                      "give the container the host's /sys: docker run -v /sys:/sys:ro ..."});
  }
  if (good)
    into.add(survey, {"D17", CheckStatus::ok,
                      limits.container.empty()
                          ? What("no_container", "not in a container")
                          : What("container_limits_enough", "no container limit is too low"),
                      limits.container.empty() ? std::vector<std::string>{}
                                               : std::vector<std::string>{limits.container}});
}

} // namespace

void check_host(const Case& one, CheckResults& into) {
  for (const model::Survey& survey : one.surveys) {
    if (survey.host)
      check_shared_memory(one, survey, into);
    check_limits(one, survey, into);
    check_container(one, survey, into);
  }
}

} // namespace ncclprobe::analysis::doctor
