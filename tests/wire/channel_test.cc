#include <gtest/gtest.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <filesystem>
#include <optional>
#include <thread>
#include <zmq.hpp>

#include "services/wire/dealer_channel.h"
#include "services/wire/router_channel.h"
#include "tests/testing/temp_folder.h"

namespace flywheel {
namespace {

// For what must happen; a test that waits this long has failed.
constexpr absl::Duration kLimit = absl::Seconds(20);

class ChannelTest : public ::testing::Test {
 protected:
  std::string Endpoint(const std::string& name = "router") const {
    return "ipc://" + (folder_ / name);
  }

  RouterChannel Router(RouterChannel::Options options = {}) {
    if (options.endpoint.empty()) options.endpoint = Endpoint();
    absl::StatusOr<RouterChannel> router =
        RouterChannel::Bind(context_, options);
    EXPECT_TRUE(router.ok()) << router.status();
    return *std::move(router);
  }

  DealerChannel Dealer(const std::string& identity,
                       DealerChannel::Options options = {}) {
    if (options.endpoint.empty()) options.endpoint = Endpoint();
    options.identity = identity;
    absl::StatusOr<DealerChannel> dealer =
        DealerChannel::Connect(context_, options);
    EXPECT_TRUE(dealer.ok()) << dealer.status();
    return *std::move(dealer);
  }

  TempFolder folder_;
  ZmqContext context_;
};

std::vector<MessageFrame> Message(std::vector<std::string> texts) {
  std::vector<MessageFrame> frames;
  for (const std::string& text : texts) frames.emplace_back(text);
  return frames;
}

std::vector<std::string> Texts(const std::vector<MessageFrame>& frames) {
  std::vector<std::string> texts;
  for (const MessageFrame& frame : frames) texts.emplace_back(frame.text());
  return texts;
}

// Sends again until there is a connection.
void SendSoon(DealerChannel& dealer, const std::vector<MessageFrame>& frames) {
  const absl::Time end = absl::Now() + kLimit;
  absl::Status status;
  do {
    status = dealer.Send(frames);
    if (status.ok()) return;
    // Nothing will come; this waits for the connection without spinning.
    EXPECT_TRUE(dealer.Receive(absl::Milliseconds(5)).ok());
  } while (absl::IsUnavailable(status) && absl::Now() < end);
  FAIL() << status;
}

PeerMessage ReceiveSoon(RouterChannel& router) {
  absl::StatusOr<std::optional<PeerMessage>> message = router.Receive(kLimit);
  EXPECT_TRUE(message.ok()) << message.status();
  EXPECT_TRUE(message->has_value());
  return message->value_or(PeerMessage{});
}

std::vector<std::string> ReceiveSoon(DealerChannel& dealer) {
  absl::StatusOr<std::optional<std::vector<MessageFrame>>> frames =
      dealer.Receive(kLimit);
  EXPECT_TRUE(frames.ok()) << frames.status();
  EXPECT_TRUE(frames->has_value());
  return Texts(frames->value_or(std::vector<MessageFrame>{}));
}

TEST_F(ChannelTest, CarriesMessagesOfSeveralFramesBothWays) {
  RouterChannel router = Router();
  DealerChannel dealer = Dealer("rollout-0");
  SendSoon(dealer, Message({"hello", "", std::string(100000, 'x')}));
  const PeerMessage received = ReceiveSoon(router);
  EXPECT_EQ(received.peer, "rollout-0");
  EXPECT_EQ(Texts(received.frames),
            (std::vector<std::string>{"hello", "", std::string(100000, 'x')}));

  ASSERT_TRUE(router.Send("rollout-0", Message({"welcome", "you"})).ok());
  EXPECT_EQ(ReceiveSoon(dealer), (std::vector<std::string>{"welcome", "you"}));
}

TEST_F(ChannelTest, SendToAnUnknownPeerIsNotFound) {
  RouterChannel router = Router();
  const absl::Status status = router.Send("nobody", Message({"x"}));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "nobody", status.ToString());
}

TEST_F(ChannelTest, SendWithoutAConnectionIsUnavailableAndQueuesNothing) {
  DealerChannel dealer = Dealer("rollout-0");
  EXPECT_TRUE(absl::IsUnavailable(dealer.Send(Message({"lost"}))));
  RouterChannel router = Router();
  SendSoon(dealer, Message({"kept"}));
  EXPECT_EQ(Texts(ReceiveSoon(router).frames),
            (std::vector<std::string>{"kept"}));
}

TEST_F(ChannelTest, SendToAPeerThatDoesNotReadIsUnavailableInTheEnd) {
  RouterChannel router = Router({.high_water_mark = 2});
  DealerChannel dealer = Dealer("slow", {.high_water_mark = 2});
  SendSoon(dealer, Message({"hello"}));
  ReceiveSoon(router);
  const std::vector<MessageFrame> large = Message({std::string(1 << 20, 'x')});
  absl::Status status;
  int sent = 0;
  for (; status.ok() && sent < 1000; ++sent)
    status = router.Send("slow", large);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status << " after " << sent;

  status = absl::OkStatus();
  for (sent = 0; status.ok() && sent < 1000; ++sent)
    status = dealer.Send(large);
  EXPECT_TRUE(absl::IsUnavailable(status)) << status << " after " << sent;
}

TEST_F(ChannelTest, AMessageNeedsAFrame) {
  RouterChannel router = Router();
  DealerChannel dealer = Dealer("rollout-0");
  EXPECT_TRUE(absl::IsInvalidArgument(dealer.Send({})));
  EXPECT_TRUE(absl::IsInvalidArgument(router.Send("rollout-0", {})));
}

TEST_F(ChannelTest, ReceiveGivesUpAfterItsTimeout) {
  RouterChannel router = Router();
  DealerChannel dealer = Dealer("rollout-0");
  for (const absl::Duration timeout :
       {-absl::InfiniteDuration(), absl::ZeroDuration(), absl::Microseconds(1),
        absl::Milliseconds(30)}) {
    const absl::Time begin = absl::Now();
    const auto at_router = router.Receive(timeout);
    ASSERT_TRUE(at_router.ok()) << at_router.status();
    EXPECT_FALSE(at_router->has_value());
    const auto at_dealer = dealer.Receive(timeout);
    ASSERT_TRUE(at_dealer.ok()) << at_dealer.status();
    EXPECT_FALSE(at_dealer->has_value());
    EXPECT_GE(absl::Now() - begin, timeout);
  }
}

TEST_F(ChannelTest, AnInfiniteTimeoutWaitsForTheMessage) {
  RouterChannel router = Router();
  std::jthread sender([&] {
    DealerChannel dealer = Dealer("rollout-0");
    SendSoon(dealer, Message({"hello"}));
  });
  const auto message = router.Receive(absl::InfiniteDuration());
  ASSERT_TRUE(message.ok() && message->has_value());
  EXPECT_EQ((*message)->frames[0].text(), "hello");
}

TEST_F(ChannelTest, AReconnectingPeerTakesItsIdentityOver) {
  RouterChannel router = Router();
  DealerChannel first = Dealer("rollout-0");
  SendSoon(first, Message({"first"}));
  EXPECT_EQ(ReceiveSoon(router).frames[0].text(), "first");

  DealerChannel second = Dealer("rollout-0");
  SendSoon(second, Message({"second"}));
  EXPECT_EQ(ReceiveSoon(router).frames[0].text(), "second");
  ASSERT_TRUE(router.Send("rollout-0", Message({"answer"})).ok());
  EXPECT_EQ(ReceiveSoon(second), (std::vector<std::string>{"answer"}));
}

TEST_F(ChannelTest, APeerThatLeftIsNotFound) {
  RouterChannel router = Router();
  std::optional<DealerChannel> dealer = Dealer("rollout-0");
  SendSoon(*dealer, Message({"hello"}));
  ReceiveSoon(router);
  dealer.reset();
  const absl::Time end = absl::Now() + kLimit;
  absl::Status status;
  do {
    status = router.Send("rollout-0", Message({"anyone?"}));
    EXPECT_TRUE(router.Receive(absl::Milliseconds(5)).ok());
  } while (status.ok() && absl::Now() < end);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
}

TEST_F(ChannelTest, AnOversizedFrameDisconnectsItsSenderAlone) {
  RouterChannel router = Router({.max_message_bytes = 1000});
  DealerChannel good = Dealer("good");
  SendSoon(good, Message({"before"}));
  EXPECT_EQ(ReceiveSoon(router).peer, "good");

  // A socket of its own, because channels reconnect.
  zmq::context_t context;
  zmq::socket_t bad(context, zmq::socket_type::dealer);
  bad.set(zmq::sockopt::routing_id, "bad");
  bad.set(zmq::sockopt::reconnect_ivl, -1);
  bad.set(zmq::sockopt::linger, 0);
  bad.connect(Endpoint());
  bad.send(zmq::str_buffer("small"));
  EXPECT_EQ(ReceiveSoon(router).peer, "bad");
  EXPECT_TRUE(router.Send("bad", Message({"welcome"})).ok());

  bad.send(zmq::str_buffer("first frame"), zmq::send_flags::sndmore);
  bad.send(zmq::buffer(std::string(1001, 'x')));
  const absl::Time end = absl::Now() + kLimit;
  absl::Status status;
  do {
    status = router.Send("bad", Message({"still there?"}));
    const auto message = router.Receive(absl::Milliseconds(5));
    ASSERT_TRUE(message.ok());
    EXPECT_FALSE(message->has_value());
  } while (status.ok() && absl::Now() < end);
  EXPECT_TRUE(absl::IsNotFound(status)) << status;

  SendSoon(good, Message({std::string(1000, 'y')}));
  EXPECT_EQ(ReceiveSoon(router).peer, "good");
  EXPECT_TRUE(router.Send("good", Message({"yes"})).ok());
  EXPECT_EQ(ReceiveSoon(good), (std::vector<std::string>{"yes"}));
}

TEST_F(ChannelTest, AMessageOfTooManyFramesIsDiscarded) {
  RouterChannel router = Router({.max_frames = 3});
  DealerChannel dealer = Dealer("rollout-0");
  SendSoon(dealer, Message({"1", "2", "3", "4"}));
  SendSoon(dealer, Message({"a", "b", "c"}));
  EXPECT_EQ(Texts(ReceiveSoon(router).frames),
            (std::vector<std::string>{"a", "b", "c"}));
  const auto message = router.Receive(absl::ZeroDuration());
  ASSERT_TRUE(message.ok());
  EXPECT_FALSE(message->has_value());
}

TEST_F(ChannelTest, ADealerFindsARouterThatWasReplaced) {
  std::optional<RouterChannel> router = Router();
  DealerChannel dealer = Dealer("rollout-0");
  for (int life = 0; life < 3; ++life) {
    SendSoon(dealer, Message({"hello", std::to_string(life)}));
    EXPECT_EQ(Texts(ReceiveSoon(*router).frames),
              (std::vector<std::string>{"hello", std::to_string(life)}));
    router.reset();
    EXPECT_FALSE(std::filesystem::exists(folder_ / "router"));
    // Only once the old connection is known to be gone is nothing sent to it.
    const absl::Time end = absl::Now() + kLimit;
    while (dealer.Send(Message({"lost"})).ok() && absl::Now() < end) {
      EXPECT_TRUE(dealer.Receive(absl::Milliseconds(5)).ok());
    }
    router = Router();
  }
}

TEST_F(ChannelTest, BindReplacesTheFileOfADeadProcessOnly) {
  // A socket that is closed without its file being unlinked, as by kill -9.
  const std::string path = folder_ / "router";
  sockaddr_un address{.sun_family = AF_UNIX};
  path.copy(address.sun_path, path.size());
  const int descriptor = socket(AF_UNIX, SOCK_STREAM, 0);
  ASSERT_EQ(bind(descriptor, reinterpret_cast<const sockaddr*>(&address),
                 sizeof(address)),
            0);
  ASSERT_EQ(listen(descriptor, 1), 0);
  const absl::Status live =
      RouterChannel::Bind(context_, {.endpoint = Endpoint()}).status();
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "live process", live.ToString());
  close(descriptor);
  ASSERT_TRUE(std::filesystem::exists(path));

  RouterChannel router = Router();
  DealerChannel dealer = Dealer("rollout-0");
  SendSoon(dealer, Message({"hello"}));
  EXPECT_EQ(ReceiveSoon(router).peer, "rollout-0");
}

TEST_F(ChannelTest, TellsThePortTheSystemChose) {
  RouterChannel router = Router({.endpoint = "tcp://127.0.0.1:*"});
  EXPECT_TRUE(router.endpoint().starts_with("tcp://127.0.0.1:"));
  EXPECT_NE(router.endpoint(), "tcp://127.0.0.1:*");
  DealerChannel dealer = Dealer("rollout-0", {.endpoint = router.endpoint()});
  SendSoon(dealer, Message({"hello"}));
  EXPECT_EQ(ReceiveSoon(router).peer, "rollout-0");
  // And nobody else can have it.
  EXPECT_TRUE(absl::IsInvalidArgument(
      RouterChannel::Bind(context_, {.endpoint = router.endpoint()}).status()));
}

TEST_F(ChannelTest, WaitAnyReturnsForWhicheverChannelHasAMessage) {
  RouterChannel router = Router();
  RouterChannel other = Router({.endpoint = Endpoint("other")});
  DealerChannel first = Dealer("rollout-0");
  DealerChannel second = Dealer("rollout-0", {.endpoint = Endpoint("other")});
  SendSoon(second, Message({"hello"}));
  ReceiveSoon(other);

  const absl::Time begin = absl::Now();
  DealerChannel::WaitAny({&first, &second}, absl::Milliseconds(30));
  EXPECT_GE(absl::Now() - begin, absl::Milliseconds(30));

  ASSERT_TRUE(other.Send("rollout-0", Message({"answer"})).ok());
  DealerChannel::WaitAny({&first, &second}, absl::InfiniteDuration());
  const auto frames = second.Receive(absl::ZeroDuration());
  ASSERT_TRUE(frames.ok() && frames->has_value());
  EXPECT_EQ(Texts(**frames), (std::vector<std::string>{"answer"}));
  DealerChannel::WaitAny({}, absl::InfiniteDuration());  // Nothing to wait for.
}

TEST_F(ChannelTest, EveryReceivedFrameIsAlignedTo8Bytes) {
  RouterChannel router = Router();
  DealerChannel dealer = Dealer("rollout-0");
  for (std::size_t size = 1; size <= 70000; size = size * 3 + 1) {
    SendSoon(dealer, Message({"x", std::string(size, 'a'),
                              std::string(size + 3, 'b')}));
    const PeerMessage message = ReceiveSoon(router);
    ASSERT_EQ(message.frames.size(), 3u);
    for (const MessageFrame& frame : message.frames) {
      EXPECT_EQ(reinterpret_cast<std::uintptr_t>(frame.bytes().data()) % 8, 0u)
          << frame.size();
    }
    EXPECT_EQ(message.frames[2].text(), std::string(size + 3, 'b'));
  }
}

TEST_F(ChannelTest, ReleasesASharedFrameOnceItIsSent) {
  RouterChannel router = Router();
  DealerChannel dealer = Dealer("rollout-0");
  auto owner = std::make_shared<const std::string>(100000, 'x');
  const std::weak_ptr<const std::string> alive = owner;
  std::vector<MessageFrame> frames;
  frames.emplace_back(owner,
                      std::as_bytes(std::span(owner->data(), owner->size())));
  owner.reset();
  SendSoon(dealer, frames);
  frames.clear();
  EXPECT_EQ(ReceiveSoon(router).frames[0].size(), 100000u);
  const absl::Time end = absl::Now() + kLimit;
  while (!alive.expired() && absl::Now() < end) {
    EXPECT_TRUE(router.Receive(absl::Milliseconds(5)).ok());
  }
  EXPECT_TRUE(alive.expired());
}

TEST_F(ChannelTest, ReceivedFramesOutliveTheirChannel) {
  std::optional<RouterChannel> router = Router();
  DealerChannel dealer = Dealer("rollout-0");
  SendSoon(dealer, Message({std::string(100000, 'x')}));
  const PeerMessage message = ReceiveSoon(*router);
  router.reset();
  EXPECT_EQ(message.frames[0].text(), std::string(100000, 'x'));
}

// Several threads, each with a channel of its own, as in a job.
TEST_F(ChannelTest, ManyDealersTalkToOneRouter) {
  constexpr int kDealers = 4;
  constexpr int kMessages = 50;
  RouterChannel router = Router();
  std::vector<std::jthread> threads;
  for (int d = 0; d < kDealers; ++d) {
    threads.emplace_back([this, d] {
      DealerChannel dealer = Dealer("rollout-" + std::to_string(d));
      for (int m = 0; m < kMessages; ++m) {
        SendSoon(dealer, Message({std::string(2000 + m, 'a' + d)}));
        EXPECT_EQ(ReceiveSoon(dealer),
                  (std::vector<std::string>{std::string(2000 + m, 'a' + d)}));
      }
    });
  }
  for (int i = 0; i < kDealers * kMessages; ++i) {
    const PeerMessage message = ReceiveSoon(router);
    EXPECT_TRUE(router.Send(message.peer, message.frames).ok());
  }
}

TEST_F(ChannelTest, OptionsThatCannotWorkAreRefused) {
  const auto connect = [&](DealerChannel::Options options) {
    return DealerChannel::Connect(context_, options).status();
  };
  const std::string endpoint = Endpoint();
  for (const DealerChannel::Options& options :
       std::vector<DealerChannel::Options>{
           {.endpoint = endpoint, .identity = ""},
           {.endpoint = endpoint, .identity = std::string(256, 'x')},
           {.endpoint = endpoint, .identity = std::string("\0x", 2)},
           {.endpoint = endpoint, .identity = "x", .max_message_bytes = 0},
           {.endpoint = endpoint, .identity = "x", .high_water_mark = 0},
           {.endpoint = "", .identity = "x"},
           {.endpoint = "nonsense", .identity = "x"},
           {.endpoint = "carrier-pigeon://here", .identity = "x"},
           {.endpoint = "tcp://127.0.0.1", .identity = "x"},
           {.endpoint = "ipc://" + std::string(200, 'x'), .identity = "x"}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(connect(options))) << options.endpoint;
  }
  for (const RouterChannel::Options& options :
       std::vector<RouterChannel::Options>{
           {.endpoint = endpoint, .max_message_bytes = 0},
           {.endpoint = endpoint, .max_frames = 0},
           {.endpoint = endpoint, .high_water_mark = -1},
           {.endpoint = ""},
           {.endpoint = "ipc://"},
           {.endpoint = "ipc://" + (folder_ / "none/router")},
           {.endpoint = "ipc://" + (folder_ / std::string(108, 'x'))},
           {.endpoint = "tcp://203.0.113.1:7000"},
           {.endpoint = "tcp://127.0.0.1:99999"}}) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        RouterChannel::Bind(context_, options).status()))
        << options.endpoint;
  }
}

}  // namespace
}  // namespace flywheel
