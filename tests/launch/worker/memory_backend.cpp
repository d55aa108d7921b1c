// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "launch/worker/memory_backend.h"

#include "base/clock.h"
#include "host/pattern_data.h"
#include "launch/worker/memory_library.h"

#include <atomic>
#include <cstring>
#include <mutex>
#include <numeric>

namespace ncclprobe::support {
namespace {

using backend::Place;
using SharedBytes = std::shared_ptr<std::vector<std::byte>>;

// Memory that processes share, by handle.
struct Shared {
  std::mutex mutex;
  std::map<std::string, std::weak_ptr<std::vector<std::byte>>> by_handle;
  std::atomic<int> mapped = 0;
};
Shared& shared() {
  static Shared all;
  return all;
}

class MemoryBuffer : public backend::Buffer {
public:
  MemoryBuffer(SharedBytes bytes, const MemoryFault& fault)
      : bytes_(std::move(bytes)), fault_(fault) {}
  std::byte* at(std::uint64_t offset) { return bytes_->data() + offset; }

  std::uint64_t size_bytes() const override { return bytes_->size(); }
  void poison_bytes(std::uint64_t offset, std::uint64_t bytes) override {
    std::memset(at(offset), model::k_poison_byte, bytes);
  }
  backend::Mismatch compare_poison(std::uint64_t offset, std::uint64_t bytes) override {
    return host::compare_poison(at(offset), bytes);
  }
  void fill(std::uint64_t offset, model::DataType type, const model::Pattern& pattern, int rank,
            std::uint64_t count) override {
    host::fill_pattern(at(offset), type, pattern, rank, count);
  }
  backend::Mismatch compare(std::uint64_t offset, model::DataType type,
                            const model::Pattern& pattern,
                            const model::Expectation& expected) override {
    return host::compare_pattern(at(offset), type, pattern, expected);
  }
  void read(std::uint64_t offset, std::span<std::byte> into) override {
    std::memcpy(into.data(), at(offset), into.size());
  }
  void write(std::uint64_t offset, std::span<const std::byte> from) override {
    std::memcpy(at(offset), from.data(), from.size());
  }
  std::string share() override {
    if (fault_.shares_nothing)
      base::raise(base::Errc::unsupported, "planted: nothing is shared");
    std::string handle = fmt::format("{}", static_cast<const void*>(bytes_.get()));
    std::lock_guard lock(shared().mutex);
    shared().by_handle[handle] = bytes_;
    return handle;
  }

private:
  SharedBytes bytes_;
  const MemoryFault& fault_;
};

struct MemoryEvent : backend::Event {
  std::int64_t at_ns = 0;
};

std::byte* memory_at(const Place& place) {
  return static_cast<MemoryBuffer&>(place.buffer).at(place.offset);
}

class MemoryStream : public backend::Stream {
public:
  explicit MemoryStream(const MemoryFault& fault) : fault_(fault) {}
  void record(backend::Event& event) override {
    static_cast<MemoryEvent&>(event).at_ns = base::monotonic_ns();
  }
  void wait(backend::Event&) override {}
  void spin(std::uint64_t) override {}
  void prepare(const backend::CopyCall&) override {}
  void copy(const backend::CopyCall& call) override {
    if (fault_.copies_nothing)
      return;
    std::memcpy(memory_at(call.to), memory_at(call.from), call.bytes);
    if (fault_.damage)
      fault_.damage({memory_at(call.to), call.bytes});
  }
  void prepare(const backend::ChaseCall&) override {}
  void chase(const backend::ChaseCall& call) override {
    const std::byte* chain = memory_at(call.through);
    std::uint64_t position = 0;
    for (std::uint64_t hop = 0; hop < call.hops; ++hop)
      std::memcpy(&position, chain + position, sizeof position);
    std::memcpy(memory_at(call.result), &position, sizeof position);
    if (fault_.damage)
      fault_.damage({memory_at(call.result), sizeof position});
  }
  void mark(std::string_view) override {}
  bool idle() override { return true; }

private:
  const MemoryFault& fault_;
};

class MemoryDevice : public backend::Device {
public:
  explicit MemoryDevice(const MemoryFault& fault) : fault_(fault) {}
  std::unique_ptr<backend::Buffer> allocate(std::uint64_t bytes) override {
    return std::make_unique<MemoryBuffer>(std::make_shared<std::vector<std::byte>>(bytes), fault_);
  }
  std::unique_ptr<backend::Buffer> allocate_on_host(std::uint64_t bytes, model::Memory) override {
    return allocate(bytes);
  }
  std::unique_ptr<backend::Buffer> allocate_shared(std::uint64_t bytes) override {
    return allocate(bytes);
  }
  std::unique_ptr<backend::Buffer> map_shared(const std::string& handle, std::uint64_t) override {
    std::lock_guard lock(shared().mutex);
    ++shared().mapped;
    return std::make_unique<MemoryBuffer>(shared().by_handle.at(handle).lock(), fault_);
  }
  std::unique_ptr<backend::Stream> open_stream(int) override {
    return std::make_unique<MemoryStream>(fault_);
  }
  std::unique_ptr<backend::Event> create_event(backend::EventUse) override {
    return std::make_unique<MemoryEvent>();
  }
  std::int64_t elapsed_ns(backend::Event& begin, backend::Event& end) override {
    return std::max<std::int64_t>(1, static_cast<MemoryEvent&>(end).at_ns -
                                         static_cast<MemoryEvent&>(begin).at_ns);
  }

private:
  const MemoryFault& fault_;
};

class MemoryCommunicator : public backend::Communicator {
public:
  MemoryCommunicator(MemoryLibrary& library, int number, int rank, int size)
      : library_(library), number_(number), rank_(rank), size_(size) {}
  int rank() const override { return rank_; }
  int size() const override { return size_; }
  void enqueue(const backend::CollectiveCall& call, backend::Stream&) override {
    library_.enqueue(number_, rank_, size_, call);
  }
  void send(Place from, std::uint64_t count, model::DataType type, int peer,
            backend::Stream&) override {
    library_.send(number_, rank_, peer, from, count * size_bytes(type));
  }
  void receive(Place into, std::uint64_t count, model::DataType type, int peer,
               backend::Stream&) override {
    library_.receive(number_, peer, rank_, into, count * size_bytes(type));
  }
  void check() override {}

private:
  MemoryLibrary& library_;
  int number_; // of the communicator
  int rank_;
  int size_;
};

class MemoryBackend : public backend::Backend {
public:
  explicit MemoryBackend(MemoryFault fault) : fault_(std::move(fault)) {}
  std::string_view name() const override { return "memory"; }
  bool moves_data() const override { return true; }
  std::unique_ptr<backend::Device> open_device(int) override {
    return std::make_unique<MemoryDevice>(fault_);
  }
  std::vector<std::unique_ptr<backend::Communicator>>
  connect(const std::string&, const std::vector<int>& ranks, std::span<const backend::Member> local,
          backend::Rendezvous& rendezvous) override {
    rendezvous_ = &rendezvous;
    std::vector<std::unique_ptr<backend::Communicator>> members;
    for (const backend::Member& one : local)
      members.push_back(std::make_unique<MemoryCommunicator>(library_, communicators_, one.rank,
                                                             static_cast<int>(ranks.size())));
    ++communicators_;
    return members;
  }
  void group_begin() override { library_.group_begin(); }
  void group_end() override { library_.group_end(); }
  double max_over_ranks(std::span<backend::Communicator* const> local, double value) override {
    std::map<int, std::string> own;
    for (const backend::Communicator* one : local)
      own[one->rank()] = fmt::format("{}", value);
    std::vector<int> everybody(static_cast<std::size_t>(local.front()->size()));
    std::iota(everybody.begin(), everybody.end(), 0);
    for (const std::string& text :
         rendezvous_->exchange(fmt::format("barrier {}", barriers_++), everybody, own))
      value = std::max(value, std::stod(text));
    return value;
  }
  std::int64_t now_ns() override { return base::monotonic_ns(); }

private:
  MemoryFault fault_;
  MemoryLibrary library_;
  int communicators_ = 0;
  backend::Rendezvous* rendezvous_ = nullptr;
  int barriers_ = 0;
};

} // namespace

std::unique_ptr<backend::Backend> make_memory_backend(MemoryFault fault) {
  return std::make_unique<MemoryBackend>(std::move(fault));
}

int count_mapped() {
  return shared().mapped.exchange(0);
}

} // namespace ncclprobe::support
