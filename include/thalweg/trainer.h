// Training a model on files of rows, and predicting by it: what `thalweg train` and `thalweg predict` do, for
// an application. docs/library.md shows how; examples/train_clicks.cc is a whole program.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "thalweg/job_status.h"
#include "thalweg/loss.h"
#include "thalweg/node.h"
#include "thalweg/options.h"
#include "thalweg/row_order.h"
#include "thalweg/state_tls.h"
#include "thalweg/status.h"

namespace thalweg {

// How a model does on rows that it was not trained on.
struct HeldOutNumbers {
  std::uint64_t rows = 0;
  double logloss = 0;      // Mean, by weights; NaN for squared loss.
  double auc = 0;          // NaN for squared loss, and where all rows have one label.
  double rmse = 0;         // Root of the mean squared error.
  double calibration = 0;  // Mean prediction / mean label.
  // All that mean something for the loss, by the names of docs/cli.md, TrainParts::metrics among them.
  std::map<std::string, double> metrics;
};

// What a training has cost so far. Numbers of nodes in other processes are those of their last heartbeats.
struct TrainCosts {
  std::uint64_t steps = 0;         // Over all passes, in each of the data shard that made most.
  std::uint64_t bytes_pushed = 0;  // Of push frames that reached servers.
  // Of pushes, pulls and the answers to both, as often as nodes sent them, and of messages between data
  // shards.
  std::uint64_t bytes_sent = 0;
  double staleness_mean = 0;  // Steps that data shards of pulls led the slowest one, over all pulls.
  std::uint32_t staleness_max = 0;
};

// One pass over the training rows.
struct TrainEpoch {
  std::uint32_t number = 1;  // From 1.
  std::uint64_t examples = 0;
  double seconds = 0;     // From the start of the job's nodes to the pass's end.
  TrainCosts costs;       // Up to its end.
  double train_loss = 0;  // Mean before each step's update: logloss, or half the squared error. NaN: none was
                          // learnt in this run.
  std::optional<HeldOutNumbers> held_out;  // Nothing: no row was held out, or the pass was cut short.
};

// A training under way.
struct TrainProgress {
  std::chrono::nanoseconds elapsed{};
  std::string missing;         // Nodes that have not joined yet, in words; then the rest is not known yet.
  std::uint32_t epoch = 1;     // From 1.
  std::optional<double> done;  // Part of all passes, 0 to 1; nothing where the input's size is not known.
  std::uint64_t examples = 0;  // So far, over all passes.
  std::optional<double> train_loss;  // Of this pass, as TrainEpoch has it.
  std::optional<double> auc;         // Of a sample of the rows, each scored before it was learnt.
  TrainCosts costs;
  std::uint32_t workers = 0, workers_alive = 0;
  std::uint32_t servers = 0, servers_alive = 0;
};

class MemoryRows;
struct RowFormat;
struct ModelKind;
struct Metric;

enum class TrainMessage : std::uint8_t { kDetail, kNote, kWarning };

// Ways to get at files; formats, models and metrics of an application's own, found by their names beside the
// built-in ones; they outlive the job. Described in src/data/reader/row_format.h, src/model/model_kind.h and
// src/model/metric/metric.h, for programs built in this tree. So are rows that are in memory, by the path
// that names them in place of files: src/data/memory/memory_rows.h.
struct TrainParts {
  std::vector<const RowFormat*> formats;
  std::vector<const ModelKind*> models;
  std::vector<const Metric*> metrics;
  std::map<std::string, std::shared_ptr<const MemoryRows>> rows;
  // A file of rows is the output of this command, in which %s stands for its name. Run where this is given
  // and nowhere else: no job tells other processes of it. Empty: files are files.
  std::string from_command;
  // The longest wait for more of that command's output, and for its end.
  std::chrono::nanoseconds command_timeout = std::chrono::minutes(5);
};

// Checkpoints of a training whose servers have all that is learnt: from one it goes on on any number of
// servers and workers, in sync mode to the bits of a training that was never interrupted.
// docs/checkpoints.md.
struct CheckpointOptions {
  std::string
      directory;  // Where they are kept, one that all servers reach by this path; empty: none are taken.
  // Steps of a pass between two, which has one at its end as well; or time. Both 0: 5 min.
  std::uint32_t every_steps = 0;
  std::chrono::nanoseconds every{};
  std::uint32_t keep = 2;  // The newest are kept, at least one.
  // Of so many one has all rows; the others have those that have changed since the one before. 1: all have.
  std::uint32_t whole_every = 1;
  // A checkpoint's path, or "auto": the newest in `directory`, if there is one. Empty: training begins anew.
  std::string resume;
  std::string resume_command;  // For people: what goes on from the newest.
};

// What to train on what, as the flags of `thalweg train` say it; messages name options by their flags. What
// is optional and not set is chosen: from the data, or as the flag's help says.
struct TrainerOptions {
  // Files or globs, or "-" for standard input. Empty: workers bring them, see run(NodeOptions).
  std::vector<std::string> files;
  std::string valid;  // A file or glob of held-out rows; empty: none.
  std::uint64_t valid_part =
      0;  // N: each N-th row of `files` is held out; gpt: their last N-th part, unset 10.
  std::string format = "auto";   // libsvm, libffm, criteo, vw, jsonl or csv; auto: found by looking.
  std::uint64_t on_bad_row = 0;  // How many bad rows may be left out before the job ends with kData.
  unsigned hash_bits = 0;        // 1 to 63: features are hashed to so many bits.
  std::string interactions;      // lr: features of pairs, such as "user*item,*", see docs/formats.md.
  std::string columns, label_column, weight_column;  // CSV and JSON lines, see docs/formats.md.
  // Rows without columns: values stand as they are, whatever their size; else those of features far from 1
  // are divided by their mean size.
  bool raw_values = false;

  // A saved model that training goes on with, optimizer state included; what shapes the model and is not set
  // here is as it was there.
  std::string init;
  bool init_weights_only = false;  // Without the state, so that rules and rates are chosen as for a new one.
  // lr, fm, ffm or deepfm; dense: softmax, mlp, convnet, gpt or script:FILE, a TorchScript module. Empty: lr.
  std::string model;
  std::optional<Loss> loss;             // Unset: logistic, of a dense model classes, of gpt bytes.
  std::optional<std::uint32_t> rank;    // fm, ffm, deepfm: floats of a factor. Unset: 8.
  std::optional<std::uint32_t> fields;  // ffm, deepfm
  float init_scale = 0.02f;             // fm, ffm, deepfm: standard deviation of factors at first.
  std::uint64_t seed = 1;
  std::optional<std::uint32_t> inputs, classes;                // Dense models; unset: as the data has them.
  std::optional<std::vector<std::uint32_t>> hidden;            // mlp, deepfm: widths of the layers between.
  std::optional<std::uint32_t> layers, width, heads, context;  // gpt; unset: 4, 128, 4 and 128 bytes.

  std::optional<std::uint32_t> epochs;  // Unset: 1, of a dense model by its kind.
  // The order of training rows, drawn anew by `seed` for each pass; it is the same whoever trains.
  RowOrder shuffle = RowOrder::kFiles;
  // Features that training rows have fewer times than this are left out, by one more pass before the first;
  // up to 255, and 0 or 1: none are. docs/formats.md says how exact that is.
  std::uint32_t min_count = 0;
  // Features that no training row of so many last steps had are not saved; 0: all are. A model knows how old
  // its features are, so that a training that goes on with it counts on. docs/formats.md.
  std::uint32_t expire_after = 0;
  // Of logistic loss: each row of label 1 counts as so many, and of the rows of label 0 this part is learnt.
  // Predictions stay those of all rows: training scores are shifted by what that does to the odds.
  float pos_weight = 1, negative_sample = 1;
  std::optional<std::uint32_t> batch;  // Rows of a step, over all data shards.
  std::optional<RuleKind> optimizer, factor_optimizer;
  std::optional<float> rate, bias_rate, l1, l2, factor_rate, factor_l2;
  std::optional<float> layer_rate;  // deepfm: of its layers.

  // In sync mode the model's bits depend on this number, on no other below. Unset: 8, of a dense model 2.
  std::optional<std::uint32_t> data_shards;
  // How shards learn together, by name: sync, ssp:4, local:8, ..., see docs/algorithms.md. Empty: as
  // `consistency` says, which is the same by another spelling; where both are given, they must agree.
  // Neither: sync.
  std::string algorithm;
  // Which way what shards learn gets to the others: "servers", or the route of a group that the shards form,
  // "auto", "ring", "tree", ..., or that of dense tables alone, "dense:ring", which leaves sparse ones to
  // servers. Empty: by servers, where the algorithm can.
  std::string exchange;
  std::optional<Consistency> consistency;
  Combining combine;
  std::uint32_t servers = 0, workers = 0, threads = 0;          // 0: chosen by the cores of this machine.
  std::uint32_t replicas = 0;                                   // As JobOptions has it.
  std::chrono::nanoseconds timeout = std::chrono::seconds(60);  // Of a wait for any node.
  std::chrono::nanoseconds silence{};                           // See JobOptions.
  std::chrono::nanoseconds grace =
      std::chrono::seconds(3);  // See NodeOptions; with processes that are started here.
  std::uint64_t memory =
      0;  // Bytes, of tables in this process, and a third of it more for steps; 0: no limit.

  // The training is done once for each combination of these numbers, "rate=0.05,0.1;l2=1,10", on rows that
  // are read once where they fit in an eighth of `memory`; the model with the least loss on held-out rows is
  // kept. By run() in this process. Empty: once.
  std::string sweep;
  std::string out;  // Where the model is saved, a directory; empty: nowhere.
  // The model is that of the pass with the least loss on held-out rows, not of the last one. Unset: so where
  // rows are held out, unless a `state` in an etcd has neither `out` nor checkpoints beside it.
  std::optional<bool> keep_best;
  // Training ends once so many passes in a row were no better; 0: never. With keep_best.
  std::uint32_t patience = 0;
  // Features whose weights are all 0 are not saved, nor is their optimizer state.
  bool drop_zeros = false;
  bool keep_bad = false;  // Saves also a model that is worse than the mean label for every row.
  std::map<std::string, std::string> stored;  // For model.json, beside what reading rows for the model needs.

  CheckpointOptions checkpoint;
  // For Trainer::run(NodeOptions): where the scheduler keeps what another one has to know to take the job up
  // where it is killed: a directory, or etcd://HOST:PORT[,HOST:PORT...]/PREFIX, with TLS etcds://. Empty: its
  // death ends the job. For run(TrainProcesses) a directory: the processes outlive this one, too, and the
  // next run() with it takes their job up. docs/fault-tolerance.md.
  std::string state;
  StateTls state_tls;
  bool standby = false;  // Waits while another scheduler leads the job of that state.

  TrainParts more;

  // Called on the thread that called run(): ten times a second, and after each pass.
  std::function<void(const TrainProgress&)> on_progress;
  std::function<void(const TrainEpoch&)> on_epoch;
  // As on_epoch, once for each pass and in their order, while no data shard goes on: where it returns false
  // the pass is the last one, of a sweep also the training. Neither with a state nor with checkpoints.
  std::function<bool(const TrainEpoch&)> after_epoch;
  // A line for people. On any thread.
  std::function<void(TrainMessage, const std::string& line)> on_message;
  // Where the scheduler of a job over several processes is, for job_status(); on the thread of run().
  std::function<void(const std::string& address)> on_listening;
};

// Pulls whose data shard led the slowest one by so many steps.
struct LedPulls {
  std::uint32_t steps_min = 0, steps_max = 0;
  std::uint64_t pulls = 0;
};

struct SweepSetting {
  std::string name;  // Of a flag.
  float value = 0;
};
// One training of TrainerOptions::sweep.
struct SweepTrial {
  std::vector<SweepSetting> settings;
  Status status;          // Why it has no numbers, if it has none.
  double valid_loss = 0;  // Of the pass kept, as TrainEpoch::train_loss has it; NaN where it has none.
  std::uint64_t model_digest = 0;
  double seconds = 0;
  bool kept = false;  // The best, of which TrainResult tells.
};

struct TrainResult {
  // OK, or why there is no model; or, when `complete`, what is wrong with the one there is: kAborted after
  // close(), kIo when it is saved elsewhere than at `out`, kNonFinite when it has diverged on held-out rows.
  // Lines of the message that begin with "hint: " say what to do.
  Status status;
  bool complete = false;  // The model was collected, and saved if that was asked for; what follows is known.
  std::string model;      // Where it is saved; empty: nowhere.
  std::uint64_t model_digest = 0;  // Of keys and values.
  std::uint64_t model_rows = 0;    // Of all sparse tables.
  double seconds = 0;
  std::uint64_t examples = 0;      // Over all passes.
  std::uint64_t skipped_rows = 0;  // Bad ones, of the first pass and its held-out rows.
  double train_loss = 0;           // Of the last pass, and of the first one, as TrainEpoch has it.
  double progressive_loss = 0;
  // While it trained: from when all data shards were ready to read to the end of the last pass, held-out rows
  // included.
  double samples_per_second = 0;
  // On the held-out rows after the last pass; the loss as TrainEpoch::train_loss has it, the accuracy not of
  // squared loss.
  std::optional<double> valid_loss, valid_accuracy;
  std::vector<TrainEpoch> epochs;
  std::uint32_t best_epoch = 0;  // From 1, by the loss on held-out rows; 0: there are none.
  std::uint32_t kept_epoch =
      0;                 // Whose model this is; what is told of held-out rows is of it. 0: no pass was whole.
  std::string not_kept;  // Why the model is not saved, though `out` was named: it is worse than none.
  std::uint64_t steps = 0;  // This and the next as TrainCosts has them.
  std::uint64_t bytes_sent = 0;
  double staleness_mean = 0;
  std::uint32_t staleness_max = 0;
  std::uint32_t staleness_p99 = 0;  // 99 % of pulls led by so much at most.
  std::vector<LedPulls> led_pulls;  // By lead: exact below 64 steps, by powers of two from there.
  // Of the data shards' time, in which they waited for answers or for each other; and that time, the mean of
  // a data shard.
  double idle_share = 0, exchange_seconds_exposed = 0;
  std::uint64_t pushes_dropped = 0;          // That reached a server when their step had closed.
  std::uint64_t pushed_bytes = 0;            // Of all push frames that reached the servers.
  std::vector<ServerFailover> failovers;     // Servers that were lost.
  std::vector<std::string> notes, warnings;  // What the numbers mean, sentences for people.
  std::vector<SweepTrial> sweep;             // All trainings, in their order; empty: there was one.
};

// Arguments of this program that make it a server or worker of the job, see run_train_server(). In them,
// "{scheduler}", which must be there, becomes the scheduler's address, "{secret}" the file with the job's
// secret, "{memory}" the process's part of TrainerOptions::memory, and "{threads}" its part of the cores.
struct TrainProcesses {
  std::vector<std::string> server, worker;
};

struct TrainSimulation;

// One training. run() once; close() from any thread, the rest from one.
class Trainer {
 public:
  // Looks at the input, and chooses what is left open. Errors: kUsage, kData naming file and line, kIo.
  static Result<Trainer> open(TrainerOptions options);
  Trainer(Trainer&&) noexcept;
  Trainer& operator=(Trainer&&) noexcept;
  ~Trainer();

  // As given, with what was chosen.
  const TrainerOptions& options() const;

  // On threads of this process.
  TrainResult run();
  // By processes that are started here with other arguments, and end with the job; those of a job that
  // TrainerOptions::state has are not started again.
  TrainResult run(const TrainProcesses& processes);
  // As the scheduler at `node.scheduler` of servers and workers that join.
  TrainResult run(const NodeOptions& node);
  // On simulated nodes, by whose clock all times are: see src/train/simulated/simulation.h, for programs
  // built in this tree.
  TrainResult run(const TrainSimulation& simulation);

  // Asks for an early end: what has been learnt by then is the model. Nothing, where nodes are still missing.
  void close();

 private:
  class Impl;
  explicit Trainer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A server or worker of a job whose scheduler is a Trainer.
struct TrainNode {
  NodeOptions node;
  std::uint64_t memory = 0;                 // As TrainerOptions::memory.
  const std::atomic<bool>* stop = nullptr;  // Asks for its early end when true; outlives the call.
  // Worker: its files; empty: those that the scheduler was given, by the same paths.
  std::vector<std::string> files;
  TrainParts more;                                                        // As its scheduler has them.
  std::function<void(TrainMessage, const std::string& line)> on_message;  // On any thread.
};
struct TrainNodeEnd {
  Status status;      // How the job ended.
  bool told = false;  // The scheduler has said so, and its user sees it.
};
// Both return when the job is over. Errors: kUsage, kIo, kData, kTimeout (no scheduler), kRefused, kPeerLost.
TrainNodeEnd run_train_server(const TrainNode& node);
TrainNodeEnd run_train_worker(const TrainNode& node);
// What NodeOptions::insecure_no_auth risks, for people.
std::string insecurity(const NodeOptions& node);

// Calls `row` with the prediction for each row of the files, in order: a probability for logistic loss.
// Labels need not be there. Columns and hashing are those that the model in directory `model` was trained
// with. Errors: kModel, kData naming file and line.
Status predict_rows(const std::string& model, const std::vector<std::string>& files,
                    const std::function<void(float prediction)>& row, const TrainParts& more = {});

}  // namespace thalweg
