#include "services/wire/data_codec.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "flywheel/v1/buffer.pb.h"
#include "tests/wire/sample_record.h"

namespace flywheel {
namespace {

// `message` as a receiver gets it.
template <typename Message>
Message ToBufferRoundTrip(const Message& message) {
  const absl::StatusOr<ToBuffer> received = ToBufferFromBytes(
      ToBufferBytes({.worker = 3, .incarnation = 99, .message = message}));
  EXPECT_TRUE(received.ok()) << received.status();
  if (!received.ok()) return {};
  EXPECT_EQ(received->worker, 3u);
  EXPECT_EQ(received->incarnation, 99u);
  return std::get<Message>(received->message);
}

template <typename Message>
Message FromBufferRoundTrip(const Message& message) {
  const absl::StatusOr<FromBuffer> received = FromBufferFromBytes(
      FromBufferBytes({.buffer_incarnation = 98, .message = message}));
  EXPECT_TRUE(received.ok()) << received.status();
  if (!received.ok()) return {};
  EXPECT_EQ(received->buffer_incarnation, 98u);
  return std::get<Message>(received->message);
}

using Numbers = std::vector<uint64_t>;

TEST(ToBufferTest, CarriesARolloutHello) {
  const RolloutHello hello =
      ToBufferRoundTrip(RolloutHello{.schema = SampleSchema(),
                                     .first_environment = 32,
                                     .num_environments = 16,
                                     .environment_step_seconds = 0.25,
                                     .held_credits = {5, 6}});
  EXPECT_EQ(hello.schema, SampleSchema());
  EXPECT_EQ(hello.first_environment, 32u);
  EXPECT_EQ(hello.num_environments, 16u);
  EXPECT_EQ(hello.environment_step_seconds, 0.25);
  EXPECT_EQ(hello.held_credits, (Numbers{5, 6}));
}

TEST(ToBufferTest, CarriesWhatRolloutsSend) {
  EXPECT_EQ(ToBufferRoundTrip(CreditRequest{{0, 7}}).environments,
            (Numbers{0, 7}));
  EXPECT_EQ(ToBufferRoundTrip(ActingVersion{{12}}).version.value, 12);
  const Delivery delivery = ToBufferRoundTrip(Delivery{
      .sequence = 4, .credit = 5, .num_records = 6, .trajectory_seconds = 0.5});
  EXPECT_EQ(delivery.sequence, 4u);
  EXPECT_EQ(delivery.credit, 5u);
  EXPECT_EQ(delivery.num_records, 6u);
  EXPECT_EQ(delivery.trajectory_seconds, 0.5);
}

TEST(ToBufferTest, CarriesWhatLearnersSend) {
  EXPECT_EQ(ToBufferRoundTrip(LearnerHello{8}).next_train_step, 8);
  const TakeRequest take =
      ToBufferRoundTrip(TakeRequest{.step = 9, .waited_share = 0.125});
  EXPECT_EQ(take.step, 9);
  EXPECT_EQ(take.waited_share, 0.125);
  const SampleRequest sample = ToBufferRoundTrip(SampleRequest{
      .table = "demonstrations", .n = 10, .request = 11, .min_items = 12});
  EXPECT_EQ(sample.table, "demonstrations");
  EXPECT_EQ(sample.n, 10u);
  EXPECT_EQ(sample.request, 11u);
  EXPECT_EQ(sample.min_items, 12u);
  EXPECT_EQ(ToBufferRoundTrip(Release{13}).before_step, 13);
}

TEST(FromBufferTest, CarriesWhatRolloutsReceive) {
  const Welcome welcome = FromBufferRoundTrip(
      Welcome{.acknowledged_through = 4, .held_credits = {5, 6}});
  EXPECT_EQ(welcome.acknowledged_through, 4u);
  EXPECT_EQ(welcome.held_credits, (Numbers{5, 6}));

  const Credit credit{.id = 7,
                      .environment = 8,
                      .kind = CreditKind::kDemonstration,
                      .version = {9},
                      .deadline = 10};
  EXPECT_EQ(FromBufferRoundTrip(CreditGrant{credit}).credit, credit);
  EXPECT_EQ(FromBufferRoundTrip(CallIn{{11, 12}}).credits, (Numbers{11, 12}));

  const Revocation revocation =
      FromBufferRoundTrip(Revocation{.credits = {13}, .reason = "unanswered"});
  EXPECT_EQ(revocation.credits, (Numbers{13}));
  EXPECT_EQ(revocation.reason, "unanswered");

  const Acknowledgment acknowledgment =
      FromBufferRoundTrip(Acknowledgment{.acknowledged_through = 14,
                                         .refused_reason = "schema",
                                         .refused_message = "a sentence"});
  EXPECT_EQ(acknowledgment.acknowledged_through, 14u);
  EXPECT_EQ(acknowledgment.refused_reason, "schema");
  EXPECT_EQ(acknowledgment.refused_message, "a sentence");

  const Refusal refusal =
      FromBufferRoundTrip(Refusal{.reason = "fenced", .message = "too old"});
  EXPECT_EQ(refusal.reason, "fenced");
  EXPECT_EQ(refusal.message, "too old");
}

TEST(FromBufferTest, CarriesWhatLearnersReceive) {
  const LearnerWelcome early =
      FromBufferRoundTrip(LearnerWelcome{.next_train_step = 3});
  EXPECT_FALSE(early.schema.has_value());
  EXPECT_EQ(early.next_train_step, 3);
  EXPECT_EQ(
      FromBufferRoundTrip(LearnerWelcome{.schema = SampleSchema()}).schema,
      SampleSchema());

  const TakeReply take =
      FromBufferRoundTrip(TakeReply{.step = 4, .num_records = 5});
  EXPECT_EQ(take.step, 4);
  EXPECT_EQ(take.num_records, 5u);

  const SampleReply sample = FromBufferRoundTrip(
      SampleReply{.request = 6, .num_records = 7, .table_items = 8});
  EXPECT_EQ(sample.request, 6u);
  EXPECT_EQ(sample.num_records, 7u);
  EXPECT_EQ(sample.table_items, 8u);
}

TEST(FromBufferTest, CarriesErrorsThatQuoteAnyBytes) {
  EXPECT_EQ(
      FromBufferRoundTrip(Refusal{.message = "peer \"\xff\xfe\""}).message,
      "peer \"??\"");
}

TEST(FromBufferTest, CutsTextsThatNoReceiverWouldTake) {
  const std::string text(100000, 'x');
  EXPECT_EQ(FromBufferRoundTrip(Refusal{.reason = "malformed", .message = text})
                .message,
            std::string(65536, 'x'));
}

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
constexpr double kInfinity = std::numeric_limits<double>::infinity();

// What a broken sender might send, and part of the answer to it.
template <typename Proto>
struct Mistake {
  std::string says;
  std::function<void(Proto&)> make;
};

template <typename Proto, typename Parse>
void ExpectRefusedByName(const std::vector<Mistake<Proto>>& mistakes,
                         Parse parse) {
  for (const Mistake<Proto>& mistake : mistakes) {
    SCOPED_TRACE(mistake.says);
    Proto message;
    mistake.make(message);
    const absl::Status status = parse(message.SerializeAsString()).status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
    EXPECT_PRED_FORMAT2(::testing::IsSubstring, mistake.says,
                        status.ToString());
  }
}

// A hello that is right, for others to spoil.
v1::ToBuffer& Hello(v1::ToBuffer& to) {
  const std::string bytes =
      ToBufferBytes({.message = RolloutHello{.schema = SampleSchema(),
                                             .num_environments = 1}});
  to.ParseFromString(bytes);
  return to;
}

TEST(ToBufferTest, RefusesARolloutHelloByName) {
  ExpectRefusedByName<v1::ToBuffer>(
      {{"rollout_hello.schema: a schema must have 1 to 256 columns",
        [](auto& m) { m.mutable_rollout_hello(); }},
       {"schema: must have at most 256 columns",
        [](auto& m) {
          auto* schema = m.mutable_rollout_hello()->mutable_schema();
          for (int i = 0; i < 257; ++i) schema->add_columns();
        }},
       {"element kind 257",
        [](auto& m) {
          auto* column =
              m.mutable_rollout_hello()->mutable_schema()->add_columns();
          column->set_element(static_cast<v1::ElementKind>(257));
        }},
       {"at most 16 dimensions",
        [](auto& m) {
          auto* column =
              m.mutable_rollout_hello()->mutable_schema()->add_columns();
          for (int i = 0; i < 17; ++i) column->add_shape(1);
        }},
       {"num_environments must be 1 to 1048576, got 0",
        [](auto& m) {
          Hello(m).mutable_rollout_hello()->set_num_environments(0);
        }},
       {"first_environment",
        [](auto& m) {
          Hello(m).mutable_rollout_hello()->set_first_environment(~uint64_t{0});
        }},
       {"environment_step_seconds must be finite",
        [](auto& m) {
          Hello(m).mutable_rollout_hello()->set_environment_step_seconds(kNan);
        }},
       {"held_credits must have at most 1048576",
        [](auto& m) {
          Hello(m).mutable_rollout_hello()->mutable_held_credits()->Resize(
              (1 << 20) + 1, 1);
        }}},
      ToBufferFromBytes);
}

TEST(ToBufferTest, RefusesOtherMessagesByName) {
  ExpectRefusedByName<v1::ToBuffer>(
      {{"ToBuffer.message must be one of the known messages, got none",
        [](auto&) {}},
       {"got unknown field 15",
        [](auto& m) {
          m.GetReflection()->MutableUnknownFields(&m)->AddVarint(15, 1);
        }},
       {"environments must have at most",
        [](auto& m) {
          m.mutable_credit_request()->mutable_environments()->Resize(
              (1 << 20) + 1, 1);
        }},
       {"acting_version.version must be >= 0, got -1",
        [](auto& m) { m.mutable_acting_version()->set_version(-1); }},
       {"must be >= 1, got 0 and 5",
        [](auto& m) { m.mutable_delivery()->set_credit(5); }},
       {"must be >= 1, got 5 and 0",
        [](auto& m) { m.mutable_delivery()->set_sequence(5); }},
       {"delivery.num_records must be 0 to 65535, got 65536",
        [](auto& m) {
          m.mutable_delivery()->set_sequence(1);
          m.mutable_delivery()->set_credit(1);
          m.mutable_delivery()->set_num_records(65536);
        }},
       {"trajectory_seconds",
        [](auto& m) {
          m.mutable_delivery()->set_sequence(1);
          m.mutable_delivery()->set_credit(1);
          m.mutable_delivery()->set_trajectory_seconds(-1);
        }},
       {"learner_hello.next_train_step",
        [](auto& m) { m.mutable_learner_hello()->set_next_train_step(-1); }},
       {"take.step", [](auto& m) { m.mutable_take()->set_step(-5); }},
       {"take.waited_share",
        [](auto& m) { m.mutable_take()->set_waited_share(kInfinity); }},
       {"sample.n must be 1 to 65535, got 0",
        [](auto& m) { m.mutable_sample(); }},
       {"sample.table",
        [](auto& m) {
          m.mutable_sample()->set_table(std::string(65537, 'x'));
        }},
       {"release.before_step",
        [](auto& m) { m.mutable_release()->set_before_step(-1); }}},
      ToBufferFromBytes);
}

// A grant that is right, for others to spoil.
v1::CreditGrant* Grant(v1::FromBuffer& from) {
  v1::CreditGrant* grant = from.mutable_credit_grant();
  grant->set_credit(1);
  grant->set_kind(v1::CREDIT_KIND_TRAINING);
  return grant;
}

TEST(FromBufferTest, RefusesMessagesByName) {
  ExpectRefusedByName<v1::FromBuffer>(
      {{"FromBuffer.message must be one of the known messages", [](auto&) {}},
       {"welcome.held_credits",
        [](auto& m) {
          m.mutable_welcome()->mutable_held_credits()->Resize((1 << 20) + 1, 1);
        }},
       {"kind must be training or demonstration, got 0",
        [](auto& m) { Grant(m)->set_kind(v1::CREDIT_KIND_UNSPECIFIED); }},
       {"credit_grant.credit must be >= 1",
        [](auto& m) { Grant(m)->set_credit(0); }},
       {"credit_grant.version", [](auto& m) { Grant(m)->set_version(-1); }},
       {"credit_grant.deadline", [](auto& m) { Grant(m)->set_deadline(-1); }},
       {"call_in.credits",
        [](auto& m) {
          m.mutable_call_in()->mutable_credits()->Resize((1 << 20) + 1, 1);
        }},
       {"revocation.credits",
        [](auto& m) {
          m.mutable_revocation()->mutable_credits()->Resize((1 << 20) + 1, 1);
        }},
       {"revocation.reason",
        [](auto& m) {
          m.mutable_revocation()->set_reason(std::string(65537, 'x'));
        }},
       {"acknowledgment.refused_message",
        [](auto& m) {
          m.mutable_acknowledgment()->set_refused_message(
              std::string(65537, 'x'));
        }},
       {"learner_welcome.schema: a schema must have",
        [](auto& m) { m.mutable_learner_welcome()->mutable_schema(); }},
       {"learner_welcome.next_train_step",
        [](auto& m) { m.mutable_learner_welcome()->set_next_train_step(-1); }},
       {"take_reply.step",
        [](auto& m) { m.mutable_take_reply()->set_step(-1); }},
       {"take_reply.num_records",
        [](auto& m) { m.mutable_take_reply()->set_num_records(65536); }},
       {"sample_reply.num_records",
        [](auto& m) { m.mutable_sample_reply()->set_num_records(65536); }},
       {"refusal.message",
        [](auto& m) {
          m.mutable_refusal()->set_message(std::string(65537, 'x'));
        }}},
      FromBufferFromBytes);
}

TEST(ToBufferTest, RefusesBytesThatAreNoMessage) {
  EXPECT_TRUE(absl::IsInvalidArgument(ToBufferFromBytes("\xff\xff").status()));
  EXPECT_TRUE(
      absl::IsInvalidArgument(FromBufferFromBytes("\xff\xff").status()));
  const absl::Status large =
      ToBufferFromBytes(std::string((16 << 20) + 1, 'x')).status();
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, "at most 16777216 bytes",
                      large.ToString());
}

TEST(ToBufferTest, SurvivesEveryCutAndFlip) {
  const std::string bytes =
      ToBufferBytes({.worker = 1,
                     .incarnation = 2,
                     .message = RolloutHello{.schema = SampleSchema(),
                                             .num_environments = 3,
                                             .held_credits = {4, 5, 6}}});
  int refused = 0;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    refused += !ToBufferFromBytes(bytes.substr(0, i)).ok();
    for (int bit = 0; bit < 8; ++bit) {
      std::string flipped = bytes;
      flipped[i] = static_cast<char>(flipped[i] ^ 1 << bit);
      const absl::StatusOr<ToBuffer> message = ToBufferFromBytes(flipped);
      refused += !message.ok();
      if (!message.ok()) continue;
      // What was accepted can be sent on.
      EXPECT_TRUE(ToBufferFromBytes(ToBufferBytes(*message)).ok());
    }
  }
  EXPECT_GT(refused, 100);
}

}  // namespace
}  // namespace flywheel
