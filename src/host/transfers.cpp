// SPDX-FileCopyrightText: The ncclprobe authors
// SPDX-License-Identifier: Apache-2.0

#include "host/transfers.h"

#include "host/slots.h"

#include <gloo/transport/unbound_buffer.h>

#include <algorithm>
#include <cstring>
#include <map>

namespace ncclprobe::host {

namespace {

struct LocalCopy {
  std::shared_ptr<std::byte> from;
  std::shared_ptr<std::byte> to;
  std::uint64_t bytes;
};

struct StreamWork {
  std::vector<Transfer> remote; // receives first
  std::vector<LocalCopy> local;
};

// One group may hold messages of several communicators.
class AllConnections : public Abortable {
public:
  explicit AllConnections(const std::vector<Transfer>& transfers) {
    for (const Transfer& one : transfers)
      if (std::ranges::find(connections_, one.connection) == connections_.end())
        connections_.push_back(one.connection);
  }
  void abort() noexcept override {
    for (const auto& one : connections_)
      one->abort();
  }

private:
  std::vector<std::shared_ptr<Connection>> connections_;
};

void run(const StreamWork& work) {
  std::vector<std::unique_ptr<gloo::transport::UnboundBuffer>> buffers;
  auto in_words = [](const Transfer& one) {
    return fmt::format("{} {} rank {} of {} bytes",
                       one.direction == Direction::send ? "send" : "receive",
                       one.direction == Direction::send ? "to" : "from", one.peer, one.bytes);
  };
  for (const Transfer& one : work.remote) {
    one.connection->guard(in_words(one), [&] {
      auto buffer = one.connection->control().createUnboundBuffer(one.memory.get(), one.bytes);
      std::uint64_t slot = transfer_slot(one.number);
      one.direction == Direction::send ? buffer->send(one.peer, slot)
                                       : buffer->recv(one.peer, slot);
      buffers.push_back(std::move(buffer));
    });
  }
  for (const LocalCopy& one : work.local)
    std::memmove(one.to.get(), one.from.get(), one.bytes);
  for (std::size_t i = 0; i < buffers.size(); ++i) {
    const Transfer& one = work.remote[i];
    one.connection->guard(in_words(one), [&] {
      one.direction == Direction::send ? buffers[i]->waitSend() : buffers[i]->waitRecv();
    });
  }
}

bool to_itself(const Transfer& one) {
  return one.peer == one.connection->rank();
}

// The receive that matches a rank's message to itself.
const Transfer& counterpart(const Transfer& send, const std::vector<Transfer>& all) {
  for (const Transfer& one : all) {
    if (one.connection != send.connection || one.direction != Direction::receive ||
        !to_itself(one) || one.number != send.number)
      continue;
    if (one.bytes != send.bytes)
      raise(Errc::invalid_argument, "rank {} sends itself {} bytes and receives {}", send.peer,
            send.bytes, one.bytes);
    if (one.stream != send.stream)
      raise(Errc::unsupported, "rank {} sends to itself from one stream to another", send.peer);
    return one;
  }
  raise(Errc::invalid_argument, "rank {} sends to itself without a receive in the same group",
        send.peer);
}

} // namespace

void TransferGroup::add(Transfer transfer) {
  if (transfer.bytes == 0)
    return; // on both sides
  auto& connection = *transfer.connection;
  bool send = transfer.direction == Direction::send;
  if (transfer.peer < 0 || transfer.peer >= connection.size())
    raise(Errc::invalid_argument, "no rank {} in a communicator of {}", transfer.peer,
          connection.size());
  transfer.number =
      send ? connection.next_send(transfer.peer) : connection.next_receive(transfer.peer);
  waiting_.push_back(std::move(transfer));
  if (depth_ == 0)
    flush();
}

void TransferGroup::end() {
  if (depth_ == 0)
    raise(Errc::invalid_argument, "group_end without group_begin");
  if (--depth_ == 0)
    flush();
}

void TransferGroup::flush() {
  std::vector<Transfer> all = std::exchange(waiting_, {});
  auto sends_to_itself = std::ranges::count_if(
      all, [](const Transfer& one) { return to_itself(one) && one.direction == Direction::send; });
  auto all_to_itself = std::ranges::count_if(all, to_itself);
  if (all_to_itself != 2 * sends_to_itself)
    raise(Errc::invalid_argument, "a rank receives from itself without a send in the same group");

  std::map<std::uint64_t, std::pair<HostStream*, StreamWork>> by_stream;
  for (Direction direction : {Direction::receive, Direction::send})
    for (const Transfer& one : all) {
      if (one.direction != direction)
        continue;
      auto& [stream, work] = by_stream[one.stream->id()];
      stream = one.stream;
      if (!to_itself(one))
        work.remote.push_back(one);
      else if (direction == Direction::send)
        work.local.push_back({one.memory, counterpart(one, all).memory, one.bytes});
    }
  for (auto& [id, entry] : by_stream) {
    auto uses = std::make_shared<AllConnections>(entry.second.remote);
    entry.first->push([work = std::move(entry.second)] { run(work); }, uses, "send_recv");
  }
}

} // namespace ncclprobe::host
