// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "base/units.h"
#include "launch/cli/common/common_options.h"
#include "launch/cli/emit/emit_command.h"

#include <algorithm>
#include <cctype>

namespace ncclprobe::cli {
namespace {

constexpr const char* k_about =
    "Before it measures, the job checks each node: GPUs, /dev/shm, and with --hca the adapters and "
    "the locked-memory limit. If a node lacks something, the job says which node lacks what, and "
    "ends with exit code 6.\n\n"
    "ncclprobe has never been tested over RDMA. Job files that use RDMA say so.";

// Values stand in scripts and YAML, so they may hold nothing that either would interpret.
Words<std::string> plain_words(std::string example) {
  return such_that<std::string>(
      text_words(std::move(example)),
      [](const std::string& text) {
        return std::ranges::all_of(text, [](unsigned char c) {
          return std::isalnum(c) != 0 ||
                 std::string_view("._:/@+-").find(static_cast<char>(c)) != std::string_view::npos;
        });
      },
      "only letters, digits and . _ : / @ + - may stand here");
}

Words<std::int64_t> whole_seconds() {
  return such_that<std::int64_t>(
      duration_words(), [](const std::int64_t& ns) { return ns >= 1'000'000'000; },
      "it must be 1 s or more");
}

} // namespace

Usage emit_usage(EmitOptions& into) {
  return {
      .name = "emit",
      .summary = "Write a job file for Slurm, Kubernetes or Docker Compose",
      .about = k_about,
      .examples = {{"ncclprobe emit sbatch --nodes 4 -o probe.sbatch", "then: sbatch probe.sbatch"},
                   {"ncclprobe emit sbatch --nodes 16 --each-node -- doctor",
                    "the health of each node"},
                   {"ncclprobe emit mpijob --nodes 2 --image registry/ncclprobe:1 --volume results",
                    "for the MPI Operator"},
                   {"ncclprobe emit jobset --nodes 2 -- run --sizes 1M,1G", "no MPI in the image"},
                   {"ncclprobe emit compose --gpus 4", "one host"}},
      .options = joined(
          {{option("kind", "KIND", into.kind,
                   choice_words({"sbatch", "mpijob", "jobset", "compose"}),
                   "sbatch: Slurm; mpijob: Kubernetes with the MPI Operator; jobset: Kubernetes, "
                   "without MPI; compose: Docker Compose on one host",
                   {.positional = true, .required = true}),
            option("nodes", "N", into.nodes, number_words(1, k_most), "Number of nodes"),
            option("gpus", "N", into.gpus, number_words(0, 1024), "GPUs per node; 0: none"),
            option("ranks-per-node", "N", into.ranks, number_words(1, 1024), "Ranks per node",
                   {.initial = "one for each GPU"}),
            flag("each-node", into.each_node,
                 "Run on each node separately, to check its health, instead of once on all nodes"),
            repeated("hca", "NAME", into.hcas, plain_words("mlx5_0"),
                     "RDMA adapter for NCCL; detect: the adapters of this machine"),
            option("mpi", "KIND", into.mpi, choice_words({"pmix", "pmi2", "none"}),
                   "Value for srun --mpi; none: ranks find each other over TCP"),
            option("wait", "TIME", into.wait_ns, whole_seconds(),
                   "How long the job waits for its ranks or workers"),
            option("time", "TIME", into.time, plain_words("01:00:00"), "Slurm's time limit"),
            option("partition", "NAME", into.partition, plain_words("gpu"), "Slurm's partition"),
            option("image", "NAME", into.image, plain_words("registry/ncclprobe:1"),
                   "Container image with ncclprobe"),
            option("shm", "SIZE", into.shm_bytes,
                   Words<std::uint64_t>{base::parse_bytes, base::format_bytes, "8G"},
                   "/dev/shm of a container"),
            option("rdma-resource", "NAME", into.rdma_resource,
                   plain_words("rdma/hca_shared_devices_a"),
                   "Kubernetes resource name of the RDMA device", {.needs = {"hca"}}),
            option("volume", "CLAIM", into.volume, plain_words("results"),
                   "Kubernetes volume claim for run files; without it, they are lost with the pod"),
            repeated("arguments", "ARGUMENT", into.arguments, text_words("run"),
                     "ncclprobe's arguments; default: run, or doctor with --each-node",
                     {.positional = true, .after_dashes = true})},
           text_file_options(into.destination),
           log_options(into.verbosity)})};
}

} // namespace ncclprobe::cli
