// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "store/child_jobs.h"
#include "store/trace_convert.h"
#include "store/trace_file.h"
#include "store/trace_writer.h"
#include "support/ddp_trace.h"
#include "support/scratch_folder.h"

#include <benchmark/benchmark.h>
#include <ctime>
#include <sys/resource.h>

// The cost of storing and reading a trace of kernels, compared with HDF5's own filters on the same
// rows in the same run. Times are processor time of one core.
namespace {

using namespace ncclprobe;
using trace::KernelRow;

constexpr std::uint64_t k_rows = 2'000'000;

double cpu_s(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) / 1e9;
}

const std::vector<KernelRow>& kernels() {
  static const std::vector<KernelRow> rows = support::ddp_kernels(k_rows);
  return rows;
}

void write_ours(const std::filesystem::path& path) {
  store::TraceWriter writer(path, {});
  auto group = writer.add_rank(0, {});
  std::span<const KernelRow> rows = kernels();
  writer.add_table<KernelRow>(group, 0, rows.size(), [&](std::size_t count, auto take) {
    for (std::size_t first = 0; first < rows.size(); first += count)
      take(rows.subspan(first, std::min(count, rows.size() - first)));
  });
  group.close("rank");
  writer.finish(store::Strings());
}

// The same columns and filters by H5Dwrite: zlib inside HDF5.
void write_plain(const std::filesystem::path& path) {
  using namespace store;
  Hdf5File file(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, H5P_DEFAULT, H5P_DEFAULT), "H5Fcreate", "");
  const auto& rows = kernels();
  for_each_column<KernelRow>([&](const auto& column) {
    using T = TraceValue<typename std::decay_t<decltype(column)>::Value>;
    std::vector<T> values(rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i)
      std::memcpy(&values[i], &(rows[i].*column.field), sizeof(T));
    hsize_t count = rows.size();
    hsize_t chunk = k_trace_chunk_rows;
    Hdf5Space space(H5Screate_simple(1, &count, nullptr), "H5Screate_simple", "");
    Hdf5Properties layout(H5Pcreate(H5P_DATASET_CREATE), "H5Pcreate", "");
    H5Pset_chunk(layout.get(), 1, &chunk);
    if (sizeof(T) > 1)
      H5Pset_shuffle(layout.get());
    H5Pset_deflate(layout.get(), 1);
    H5Pset_fletcher32(layout.get());
    Hdf5Dataset dataset(H5Dcreate2(file.get(), column.name, file_type<T>(), space.get(),
                                   H5P_DEFAULT, layout.get(), H5P_DEFAULT),
                        "H5Dcreate2", "");
    check_hdf5(
        H5Dwrite(dataset.get(), memory_type<T>(), H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()),
        "H5Dwrite", "");
  });
}

void rates(benchmark::State& state, double ours_s, double plain_s, double rows) {
  state.counters["M_rows_per_s"] = rows / ours_s / 1e6;
  state.counters["plain_M_rows_per_s"] = rows / plain_s / 1e6;
  state.counters["times_as_fast"] = plain_s / ours_s;
}

void write_kernels(benchmark::State& state) {
  support::ScratchFolder folder;
  kernels();
  double ours_s = 0;
  double plain_s = 0;
  for (auto _ : state) {
    double begin = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    write_ours(folder / "ours.h5");
    double middle = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    write_plain(folder / "plain.h5");
    double end = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    state.SetIterationTime(middle - begin);
    ours_s += middle - begin;
    plain_s += end - middle;
  }
  rates(state, ours_s, plain_s, static_cast<double>(k_rows * state.iterations()));
  state.counters["bytes_per_row"] =
      static_cast<double>(std::filesystem::file_size(folder / "ours.h5")) / k_rows;
  state.counters["plain_bytes_per_row"] =
      static_cast<double>(std::filesystem::file_size(folder / "plain.h5")) / k_rows;
}

// From the spool to the file: reading, sorting, packing, in a child as it is really done.
void convert_spool(benchmark::State& state) {
  support::ScratchFolder folder;
  support::write_ddp_spool(folder / "a.spool", 0, k_rows);
  double cpu = 0;
  double wall = 0;
  for (auto _ : state) {
    std::string used = base::value_or_throw(std::move(
        store::run_in_child(
            {{folder / "a",
              "write",
              {},
              [&](const store::Progress&) {
                double wall_begin = cpu_s(CLOCK_MONOTONIC);
                auto report = store::convert_spools({folder / "a.spool"}, folder / "a.h5", {});
                rusage children{};
                getrusage(RUSAGE_CHILDREN, &children);
                auto seconds = [](timeval time) {
                  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
                };
                return base::Result<std::string>(fmt::format("{} {}",
                                                             cpu_s(CLOCK_PROCESS_CPUTIME_ID) +
                                                                 seconds(children.ru_utime) +
                                                                 seconds(children.ru_stime),
                                                             cpu_s(CLOCK_MONOTONIC) - wall_begin));
              },
              {}}})
            .front()));
    double one = std::strtod(used.c_str(), nullptr);
    wall += std::strtod(used.c_str() + used.find(' '), nullptr);
    cpu += one;
    state.SetIterationTime(one);
  }
  double rows = static_cast<double>(k_rows * state.iterations());
  state.counters["M_rows_per_s"] = rows / cpu / 1e6;
  state.counters["M_rows_per_s_wall"] = rows / wall / 1e6;
  state.counters["bytes_per_kernel"] =
      static_cast<double>(std::filesystem::file_size(folder / "a.h5")) / k_rows;
  state.counters["spool_bytes_per_kernel"] =
      static_cast<double>(std::filesystem::file_size(folder / "a.spool")) / k_rows;
}

// One column, beside H5Dread of the same file. Counters are per million rows.
template <typename T>
void read_column(benchmark::State& state, const char* name, T KernelRow::*field) {
  using namespace store;
  support::ScratchFolder folder;
  write_ours(folder / "ours.h5");
  auto trace = base::value_or_throw(TraceFile::open(folder / "ours.h5"));
  double ours_s = 0;
  double plain_s = 0;
  for (auto _ : state) {
    double begin = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    benchmark::DoNotOptimize(base::value_or_throw(trace.column(0, field)).size());
    double middle = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    Hdf5File file(H5Fopen((folder / "ours.h5").c_str(), H5F_ACC_RDONLY, H5P_DEFAULT), "H5Fopen",
                  "");
    std::string path = fmt::format("rank_00000/kernel/{}", name);
    Hdf5Dataset dataset(H5Dopen2(file.get(), path.c_str(), H5P_DEFAULT), "H5Dopen2", path);
    std::vector<T> values(k_rows);
    check_hdf5(H5Dread(dataset.get(), memory_type<TraceValue<T>>(), H5S_ALL, H5S_ALL, H5P_DEFAULT,
                       values.data()),
               "H5Dread", path);
    double end = cpu_s(CLOCK_PROCESS_CPUTIME_ID);
    state.SetIterationTime(middle - begin);
    ours_s += middle - begin;
    plain_s += end - middle;
  }
  double millions = static_cast<double>(k_rows * state.iterations()) / 1e6;
  state.counters["ms_per_M"] = ours_s / millions * 1e3;
  state.counters["hdf5_ms_per_M"] = plain_s / millions * 1e3;
}

} // namespace

BENCHMARK(write_kernels)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK(convert_spool)->Unit(benchmark::kMillisecond)->UseManualTime();
BENCHMARK_CAPTURE(read_column, start_ns, "start_ns", &KernelRow::start_ns)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK_CAPTURE(read_column, duration_ns, "duration_ns", &KernelRow::duration_ns)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK_CAPTURE(read_column, name, "name", &KernelRow::name)
    ->Unit(benchmark::kMillisecond)
    ->UseManualTime();
BENCHMARK_MAIN();
