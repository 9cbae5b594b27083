#include "cli/options/option_table.h"

#include <algorithm>
#include <cctype>

#include "cli/options/choices.h"
#include "train/algorithm/algorithm.h"

namespace thalweg {
namespace {

constexpr double kIntMax = 9.2e18;
constexpr double kHuge = 1e30;
using T = OptionType;

constexpr std::string_view kInput = "Input";
constexpr std::string_view kModel = "Model";
constexpr std::string_view kTraining = "Training";
constexpr std::string_view kCluster = "Cluster";
constexpr std::string_view kCheckpoints = "Checkpoints";
constexpr std::string_view kOutput = "Output";
constexpr std::string_view kRanks = "Ranks";
constexpr std::string_view kCommon = "Common";

// A row is read as a row.
// clang-format off
constexpr OptionRow kRows[] = {
    {.name = "format", .key = "input.format", .type = T::kChoice, .group = kInput,
     .help = "How the input is written; auto finds out by looking", .example = "libffm", .fallback = "auto",
     .list = format_choices},
    {.name = "from-command", .key = "", .type = T::kText, .group = kInput,
     .help = "Each FILE is a name, its rows are the output of this command with %s for the name", .example = "aws s3 cp %s -", .placeholder = "COMMAND"},
    {.name = "command-timeout", .key = "", .type = T::kDuration, .group = kInput,
     .help = "Longest wait for more output of --from-command's command, and for its end", .example = "30s", .fallback = "5min", .placeholder = "TIME", .low = 0.001, .high = 86400 * 30.0},
    {.name = "on-bad-row", .key = "input.on_bad_row", .type = T::kChoice, .group = kInput, .help = "Stop at a row that cannot be read, or leave out up to N of them; unset is fail, of predict nan in its place",
     .example = "skip:100", .choices = "fail|skip:N",
     .low = 0, .high = kIntMax},
    {.name = "hash-bits", .key = "input.hash_bits", .type = T::kInt, .group = kInput,
     .help = "Hash features to this many bits; unset keeps 64-bit ids", .example = "22", .placeholder = "N",
     .low = 1, .high = 63},
    {.name = "columns", .key = "input.columns", .type = T::kText, .group = kInput,
     .help = "What columns of a CSV file are, or members of JSON lines: [NAME:]label|weight|num|cat|- each, such as user:cat,id:-", .example = "label,num*13,cat*26", .placeholder = "SPEC"},
    {.name = "label-column", .key = "input.label_column", .type = T::kText, .group = kInput, .help = "Name of the label's column in a CSV file, or member of JSON lines", .example = "click",
     .placeholder = "NAME"},
    {.name = "weight-column", .key = "input.weight_column", .type = T::kText, .group = kInput, .help = "Name of the column of example weights in a CSV file, or member of JSON lines; - is none, not even weight", .example = "weight",
     .placeholder = "NAME"},
    {.name = "raw-values", .key = "input.raw_values", .type = T::kFlag, .group = kInput,
     .help = "Where rows have no columns: values stand as they are; unset scales those of features whose mean size is below 0.001 or above 10, or that are far from 0",
     .example = ""},
    {.name = "interactions", .key = "input.interactions", .type = T::kText, .group = kInput,
     .help = "Features of pairs too (lr): NAME*NAME of two namespaces of VW text, columns of CSV, members of JSON lines or fields of libffm, or * for all; the model knows them from then on",
     .example = "user*item,C1*C14", .placeholder = "A*B,..."},
    {.name = "valid", .key = "input.valid", .type = T::kText, .group = kInput,
     .help = "Held-out rows to measure on after each epoch; a quoted pattern names several files", .example = "valid.svm", .placeholder = "FILE"},
    {.name = "valid-part", .key = "input.valid_part", .type = T::kInt,
     .group = kInput,
     .help = "Hold out every N-th row of the input; gpt: the last N-th part of each file, unset 10", .example = "10", .placeholder = "N", .low = 2,
     .high = 1e9},
    {.name = "model", .key = "model.kind", .type = T::kChoice, .group = kModel,
     .help = "Logistic or linear regression, factorization machine, field-aware factorization machine, and deepfm, one with layers above its factors; dense: softmax regression, perceptron, convolutional network, transformer of text, TorchScript module in a file",
     .example = "fm", .fallback = "lr", .list = model_choices},
    {.name = "init", .key = "model.init", .type = T::kText, .group = kModel,
     .help = "Go on with a saved model, optimizer state included; what shapes the model is as it was there", .example = "runs/monday", .placeholder = "DIR"},
    {.name = "init-weights", .key = "model.init_weights", .type = T::kText, .group = kModel,
     .help = "Begin with the weights of a saved model, without its optimizer state", .example = "runs/monday", .placeholder = "DIR"},
    {.name = "rank", .key = "model.rank", .type = T::kInt, .group = kModel,
     .help = "Length of a factor (fm, ffm, deepfm); unset is 8", .example = "8", .placeholder = "K", .low = 1, .high = 1024},
    {.name = "fields", .key = "model.fields", .type = T::kInt, .group = kModel,
     .help = "Number of fields (ffm, deepfm); unset takes it from the data. Where rows have none (deepfm) an entry's place in its row is its field", .example = "39", .placeholder = "N",
     .low = 1, .high = 65536},
    {.name = "loss", .key = "model.loss", .type = T::kChoice, .group = kModel,
     .help = "Loss to minimise: logistic for clicks, squared for ratings, poisson for counts (not dense models), classes (softmax) for lr and dense models; unset is logistic, for dense models classes, for gpt that of bytes", .example = "squared",
     .choices = "logistic|squared|poisson|classes"},
    {.name = "hidden", .key = "model.hidden", .type = T::kInts, .group = kModel,
     .help = "Widths of the layers between (mlp, deepfm); unset is 512,512, for deepfm 64,32", .example = "256,128", .placeholder = "N,N",
     .low = 1, .high = 1048576},
    {.name = "layers", .key = "model.layers", .type = T::kInt, .group = kModel,
     .help = "Blocks of the transformer (gpt); unset is 4", .example = "6", .placeholder = "N", .low = 1, .high = 64},
    {.name = "width", .key = "model.width", .type = T::kInt, .group = kModel,
     .help = "Floats of a position (gpt), a multiple of --heads; unset is 128", .example = "256", .placeholder = "N", .low = 1, .high = 16384},
    {.name = "heads", .key = "model.heads", .type = T::kInt, .group = kModel,
     .help = "Parts of each block's attention (gpt); unset is 4", .example = "8", .placeholder = "N", .low = 1, .high = 16384},
    {.name = "context", .key = "model.context", .type = T::kInt, .group = kModel,
     .help = "Bytes of a row, and the most that the next one is told by (gpt); unset is 128", .example = "256", .placeholder = "N", .low = 1, .high = 16384},
    {.name = "inputs", .key = "model.inputs", .type = T::kInt, .group = kModel,
     .help = "Numbers of a row, features 0 to N - 1 (dense models); unset takes it from the data", .example = "784", .placeholder = "N",
     .low = 1, .high = 1048576},
    {.name = "classes", .key = "model.classes", .type = T::kInt, .group = kModel,
     .help = "Classes, labels 0 to N - 1, of --loss classes; unset takes it from the data", .example = "10", .placeholder = "N",
     .low = 2, .high = 1048576},
    {.name = "init-scale", .key = "model.init_scale", .type = T::kReal, .group = kModel,
     .help = "Standard deviation of the factors before training; unset is 0.02", .example = "0.05", .placeholder = "X",
     .low = 0, .high = 1e3},
    {.name = "epochs", .key = "train.epochs", .type = T::kInt, .group = kTraining,
     .help = "Passes over the training data; unset is 1, for softmax and mlp 10, for convnet 8, for gpt 7", .example = "3", .placeholder = "N", .low = 1,
     .high = 1e6},
    {.name = "batch", .key = "train.batch", .type = T::kInt, .group = kTraining,
     .help = "Rows of a step over all data shards; unset takes 256 to 8192 by the data's size, for dense models 128, for gpt 8", .example = "1000", .placeholder = "N", .low = 1,
     .high = 1e8},
    {.name = "optimizer", .key = "train.optimizer", .type = T::kChoice, .group = kTraining, .help = "Update rule of bias and weights; unset is ftrl, adagrad for other losses than logistic and for dense models, adam for gpt", .example = "ftrl", .list = rule_choices},
    {.name = "rate", .key = "train.rate", .type = T::kReal, .group = kTraining,
     .help = "Learning rate of weights; unset is 0.1 for ftrl, 0.05 for adagrad (0.3 for squared loss, times the spread of its labels where that is far from 1, and for poisson, 0.1 for classes), 0.003 for rmsprop, over --batch 0.75 for sgd, 0.1 for momentum and nesterov (a quarter of that for squared loss and poisson), and 0.01 for the others",
     .example = "0.05", .placeholder = "X", .low = 0, .high = kHuge, .alias = "lr|learning-rate", .letter = 'l'},
    {.name = "bias-rate", .key = "train.bias_rate", .type = T::kReal, .group = kTraining,
     .help = "Learning rate of the bias; unset is that of weights, and by ftrl up to 20 times that where rows have few entries", .example = "1", .placeholder = "X", .low = 0, .high = kHuge},
    {.name = "l1", .key = "train.l1", .type = T::kReal, .group = kTraining,
     .help = "L1 penalty on weights", .example = "0.001", .placeholder = "X", .low = 0, .high = kHuge},
    {.name = "l2", .key = "train.l2", .type = T::kReal, .group = kTraining,
     .help = "L2 penalty on weights; unset is 10 for ftrl, once for all rows, and 0 for the others", .example = "0.001", .placeholder = "X", .low = 0, .high = kHuge},
    {.name = "factor-optimizer", .key = "train.factor_optimizer", .type = T::kChoice, .group = kTraining, .help = "Update rule of factors; unset is --optimizer where that is given and not ftrl, else adagrad", .example = "adagrad", .list = rule_choices},
    {.name = "factor-rate", .key = "train.factor_rate", .type = T::kReal, .group = kTraining, .help = "Learning rate of factors; unset is for adagrad 6 over the pairs of entries in a row, at most 0.2, and for the others as --rate", .example = "0.05", .placeholder = "X",
     .low = 0, .high = kHuge},
    {.name = "factor-l2", .key = "train.factor_l2", .type = T::kReal, .group = kTraining, .help = "L2 penalty on factors at each update; unset is for adagrad 0.02, and 0.5 for squared loss, else 0", .example = "0.001", .placeholder = "X", .low = 0,
     .high = kHuge},
    {.name = "layer-rate", .key = "train.layer_rate", .type = T::kReal, .group = kTraining, .help = "Learning rate of the layers (deepfm), which learn by adagrad; unset is 0.01", .example = "0.02", .placeholder = "X", .low = 0,
     .high = kHuge},
    {.name = "seed", .key = "train.seed", .type = T::kInt, .group = kTraining, .help = "Seed of everything that is drawn at random", .example = "7",
     .fallback = "1", .placeholder = "N", .low = 0, .high = kIntMax},
    {.name = "algorithm", .key = "cluster.algorithm", .type = T::kText, .group = kCluster,
     .help = "How data shards learn together: sync, ssp:S, max-wait:TIME, async, softsync:N, rudra, rudra-adv, rudra-adv*, backup:K, downpour, easgd, dcasgd, dcasgd-a, local:K, fedavg, dpsgd:GRAPH or adpsgd; help explains each",
     .example = "ssp:4", .placeholder = "NAME[:...]", .explain = explain_algorithms},
    {.name = "exchange", .key = "cluster.exchange", .type = T::kText, .group = kCluster,
     .help = "Which way gradients or replicas go: servers, or by a route among the workers themselves, auto, ring, tree, hierarchical, ...; dense:ROUTE takes dense tables alone that way, and leaves sparse ones to servers; unset is servers where the algorithm can",
     .example = "ring", .placeholder = "ROUTE"},
    {.name = "sync", .key = "cluster.sync", .type = T::kChoice, .group = kCluster,
     .help = "Steps in lockstep, at most S apart, or free", .example = "ssp:4", .fallback = "bsp",
     .choices = "bsp|ssp:S|async", .low = 0, .high = 0xffffffff},
    {.name = "combine", .key = "cluster.combine", .type = T::kChoice, .group = kCluster,
     .help = "Add up pushes before they reach servers: within each machine, or along a tree of workers",
     .example = "machine", .fallback = "none", .choices = "none|machine|tree:K",
     .low = 1, .high = 4096},
    {.name = "servers", .key = "cluster.servers", .type = T::kInt, .group = kCluster,
     .help = "Nodes that keep parameters", .example = "2", .placeholder = "N", .low = 1, .high = 4096},
    {.name = "replicas", .key = "cluster.replicas", .type = T::kInt, .group = kCluster,
     .help = "Servers that have each key range; so many less one may be lost and the job goes on; unset is 2 where there are at least two servers, each a process, and the algorithm can, else 1",
     .example = "2", .placeholder = "R", .low = 1, .high = 3},
    {.name = "checkpoint", .key = "checkpoint.dir", .type = T::kText, .group = kCheckpoints,
     .help = "Keep checkpoints of the training in this directory, which all servers reach", .example = "runs/ctr.ckpt", .placeholder = "DIR"},
    {.name = "checkpoint-every", .key = "checkpoint.every", .type = T::kText, .group = kCheckpoints,
     .help = "Time, or N-steps of a pass, from one checkpoint to the next", .example = "500-steps", .fallback = "5min", .placeholder = "TIME|N-steps"},
    {.name = "checkpoint-whole-every", .key = "checkpoint.whole_every", .type = T::kInt, .group = kCheckpoints,
     .help = "Store all rows in one of N checkpoints, in the others those that have changed since the one before", .example = "8", .fallback = "1", .placeholder = "N", .low = 1, .high = 1000},
    {.name = "keep", .key = "checkpoint.keep", .type = T::kInt, .group = kCheckpoints,
     .help = "Checkpoints to keep, the newest", .example = "3", .fallback = "2", .placeholder = "K", .low = 1, .high = 1e6},
    {.name = "keep-what", .key = "train.keep", .type = T::kText, .group = kTraining,
     .help = "The model of the pass that was best on held-out rows, or of the last; with --checkpoint how many checkpoints stay, unset 2, by itself or as best,3; unset is best where rows are held out, unless an etcd of --state has neither --out nor --checkpoint", .example = "last", .placeholder = "best|last|K", .flag = "keep"},
    {.name = "patience", .key = "train.patience", .type = T::kInt, .group = kTraining,
     .help = "End once so many passes in a row were no better on held-out rows; goes with --keep best", .example = "3", .placeholder = "N", .low = 1, .high = 1e6},
    {.name = "keep-bad", .key = "train.keep_bad", .type = T::kFlag, .group = kTraining,
     .help = "Save the model even if it is worse than saying the mean label of every row", .example = ""},
    {.name = "drop-zeros", .key = "train.drop_zeros", .type = T::kFlag, .group = kTraining,
     .help = "Do not save features whose weights are 0, as --l1 makes them, nor their optimizer state", .example = ""},
    {.name = "shuffle", .key = "train.shuffle", .type = T::kChoice, .group = kTraining,
     .help = "Order of training rows: drawn from a bounded pool, parts of plain files in random order, or as files have them; by --seed, anew in each pass", .example = "rows", .fallback = "off", .choices = "rows|blocks|off"},
    {.name = "expire-after", .key = "train.expire_after", .type = T::kInt, .group = kTraining,
     .help = "Do not save features that no row of the last N steps had, steps of trainings that --init goes on with among them", .example = "100000", .placeholder = "STEPS", .low = 1, .high = 4e9},
    {.name = "min-count", .key = "train.min_count", .type = T::kInt, .group = kTraining,
     .help = "Leave out features that the training rows have fewer times, which one more pass counts in bounded memory", .example = "5", .placeholder = "N", .low = 1, .high = 255},
    {.name = "pos-weight", .key = "train.pos_weight", .type = T::kReal, .group = kTraining,
     .help = "Count each row of label 1 as so many; predictions stay calibrated", .example = "10", .placeholder = "X", .low = 1e-6, .high = 1e6},
    {.name = "negative-sample", .key = "train.negative_sample", .type = T::kReal, .group = kTraining,
     .help = "Learn this part of the rows of label 0, drawn by --seed; predictions stay calibrated", .example = "0.1", .placeholder = "R", .low = 1e-6, .high = 1},
    {.name = "resume", .key = "", .type = T::kText, .group = kCheckpoints,
     .help = "Go on from this checkpoint; auto: from the newest of --checkpoint, if there is one", .example = "auto", .placeholder = "auto|PATH"},
    {.name = "workers", .key = "cluster.workers", .type = T::kInt, .group = kCluster,
     .help = "Nodes that read data and compute", .example = "2", .placeholder = "N", .low = 1,
     .high = 4096},
    {.name = "processes", .key = "cluster.processes", .type = T::kFlag, .group = kCluster, .help = "One process a node, over TCP, instead of threads", .example = ""},
    {.name = "data-shards", .key = "cluster.data_shards", .type = T::kInt, .group = kCluster,
     .help = "Logical parts of the data; the result depends on it, not on the number of workers; unset is 8, for dense models 2, and in simulate train one for each worker",
     .example = "8", .placeholder = "N", .low = 1, .high = 65536},
    {.name = "listen", .key = "cluster.listen", .type = T::kText,
     .group = kCluster,
     .help = "Address to accept connections on", .example = "127.0.0.1:7100", .placeholder = "ADDR"},
    {.name = "join", .key = "cluster.join", .type = T::kText, .group = kCluster, .help = "Address of the scheduler, or several with commas of which one leads (see --standby)", .example = "127.0.0.1:7100",
     .placeholder = "ADDR"},
    {.name = "timeout", .key = "cluster.timeout", .type = T::kDuration,
     .group = kCluster,
     .help = "Longest wait for any node before the job ends with an error", .example = "30s",
     .fallback = "60s", .placeholder = "SECONDS", .low = 0.001, .high = 86400 * 30.0},
    {.name = "silence", .key = "cluster.silence", .type = T::kDuration, .group = kCluster,
     .help = "Take a node for lost that says nothing for so long; unset is 10 s, or half of --timeout if that is less",
     .example = "2s", .placeholder = "SECONDS", .low = 0.1, .high = 86400 * 30.0},
    {.name = "state", .key = "cluster.state", .type = T::kText, .group = kCluster,
     .help = "Keep what the scheduler knows in this directory, or etcd://HOST:PORT[,HOST:PORT...]/PREFIX; started again with it, one that was killed takes the job up, of --processes from a directory",
     .example = "ctr.state", .placeholder = "PLACE"},
    {.name = "state-ca", .key = "cluster.state_ca", .type = T::kText, .group = kCluster,
     .help = "Who signs the certificates of --state etcds://HOST:PORT/PREFIX, in PEM; unset is whom the system trusts", .example = "ca.pem", .placeholder = "FILE"},
    {.name = "state-cert", .key = "cluster.state_cert", .type = T::kText, .group = kCluster,
     .help = "Certificate to show to --state etcds://HOST:PORT/PREFIX, in PEM", .example = "client.pem", .placeholder = "FILE"},
    {.name = "state-key", .key = "cluster.state_key", .type = T::kText, .group = kCluster,
     .help = "Key of --state-cert, in PEM", .example = "client.key", .placeholder = "FILE"},
    {.name = "standby", .key = "cluster.standby", .type = T::kFlag, .group = kCluster,
     .help = "Wait while another scheduler leads the job of --state etcd://HOST:PORT/PREFIX, and take it up when that one is gone", .example = ""},
    {.name = "grace", .key = "cluster.grace", .type = T::kDuration, .group = kCluster,
     .help = "Take a node of another machine for lost whose connection is closed for so long", .example = "10s",
     .fallback = "3s", .placeholder = "SECONDS", .low = 0.001, .high = 3600},
    {.name = "ask-timeout", .key = "", .type = T::kDuration, .group = kCluster,
     .help = "Longest wait for the scheduler's answer", .example = "500ms", .fallback = "5s",
     .placeholder = "SECONDS", .low = 0.001, .high = 86400, .flag = "timeout"},
    {.name = "ring", .key = "", .type = T::kText, .group = kCluster,
     .help = "Addresses of all nodes of a ring, in the same order everywhere, or a file with one on each line", .example = "127.0.0.1:7201,127.0.0.1:7202",
     .placeholder = "ADDR,...|FILE"},
    {.name = "ring-timeout", .key = "", .type = T::kDuration, .group = kCluster,
     .help = "Longest wait for the ring's answer", .example = "500ms", .fallback = "10s",
     .placeholder = "SECONDS", .low = 0.001, .high = 86400, .flag = "timeout"},
    {.name = "secret-file", .key = "cluster.secret_file", .type = T::kText,
     .group = kCluster,
     .help = "File with the job's secret, made by scheduler or rank 0; unset is this user's own, of run a new one",
     .example = "job.secret", .placeholder = "FILE"},
    {.name = "insecure-no-auth", .key = "cluster.insecure_no_auth", .type = T::kFlag,
     .group = kCluster,
     .help = "Listen on addresses other than loopback, or call them, although nothing is encrypted", .example = ""},
    {.name = "memory", .key = "cluster.memory", .type = T::kText, .group = kCluster,
     .help = "Most memory for tables, and a third of it more for steps under way; unset is three quarters of the machine's",
     .example = "8G", .placeholder = "SIZE"},
    {.name = "threads", .key = "cluster.threads", .type = T::kInt,
     .group = kCluster,
     .help = "Threads that parse and compute; unset takes every core", .example = "2", .placeholder = "N",
     .low = 1, .high = 1024},
    {.name = "model-dir", .key = "", .type = T::kText, .group = kModel,
     .help = "Directory that train wrote", .example = "runs/ctr", .placeholder = "DIR", .flag = "model"},
    {.name = "out", .key = "output.dir", .type = T::kText, .group = kOutput, .help = "Directory to write to", .example = "runs/ctr", .placeholder = "DIR", .letter = 'o'},
    {.name = "run-dir", .key = "output.run_dir", .type = T::kText, .group = kOutput,
     .help = "New directory for what the run is, its metrics as it goes, and its result, which plot reads",
     .example = "runs/rate-0.1", .placeholder = "DIR"},
    {.name = "output", .key = "", .type = T::kText, .group = kOutput, .help = "File to write to; unset is standard output", .example = "scores.txt",
     .placeholder = "FILE", .letter = 'o'},
    {.name = "force", .key = "", .type = T::kFlag, .group = kOutput,
     .help = "Write over files that are there", .example = ""},
    {.name = "export-output", .key = "", .type = T::kText, .group = kOutput,
     .help = "File to write to; with --format text a new directory", .example = "ctr.npz",
     .placeholder = "FILE", .flag = "output", .letter = 'o'},
    {.name = "export-format", .key = "", .type = T::kChoice, .group = kOutput,
     .help = "How to write the model", .example = "text", .fallback = "safetensors",
     .choices = "safetensors|text|npz|vw-readable", .flag = "format"},
    {.name = "synth-format", .key = "", .type = T::kChoice, .group = kOutput,
     .help = "How to write the rows", .example = "libffm", .fallback = "libsvm",
     .choices = "libsvm|libffm|criteo", .flag = "format"},
    {.name = "rows", .key = "", .type = T::kInt, .group = kOutput,
     .help = "Rows to write", .example = "1000000", .fallback = "100000", .placeholder = "N", .low = 1,
     .high = 1e12},
    {.name = "parts", .key = "", .type = T::kInt, .group = kOutput,
     .help = "Files of rows to make of it, as of so many servers", .example = "4", .placeholder = "N", .low = 1, .high = 65535},
    {.name = "seeds", .key = "", .type = T::kInterval, .group = "Simulation",
     .help = "Run one random cluster for each seed from A to B-1", .example = "0:1000", .fallback = "0:100",
     .placeholder = "A:B"},
    {.name = "replay", .key = "", .type = T::kInt, .group = "Simulation",
     .help = "Run the cluster of one seed alone", .example = "17", .placeholder = "SEED", .low = 0,
     .high = kIntMax},
    {.name = "reduced", .key = "", .type = T::kText, .group = "Simulation",
     .help = "With --replay, parts of what is simulated that are left out, or so much of them left, as a broken promise prints them",
     .example = "drop,workers=2", .placeholder = "LIST"},
    {.name = "groups", .key = "", .type = T::kFlag, .group = "Simulation",
     .help = "Simulate groups of ranks that exchange vectors, instead of clusters", .example = ""},
    {.name = "copies", .key = "", .type = T::kFlag, .group = "Simulation",
     .help = "Simulate clusters in which several servers have each key range, and some of them are lost", .example = ""},
    {.name = "drains", .key = "", .type = T::kFlag, .group = "Simulation",
     .help = "Simulate clusters in which servers are asked to leave, beside all that is lost", .example = ""},
    {.name = "joins", .key = "", .type = T::kFlag, .group = "Simulation",
     .help = "Simulate clusters which servers join while the job runs, beside all that is lost", .example = ""},
    {.name = "restarts", .key = "", .type = T::kFlag, .group = "Simulation",
     .help = "Simulate jobs that keep checkpoints, die as a whole and go on from one, on other numbers of nodes", .example = ""},
    {.name = "schedulers", .key = "", .type = T::kFlag, .group = "Simulation",
     .help = "Simulate clusters whose scheduler is killed and comes again, beside all that is lost", .example = ""},
    {.name = "trace", .key = "", .type = T::kFlag, .group = "Simulation",
     .help = "Write every frame, loss and fault to standard error", .example = ""},
    {.name = "topology", .key = "", .type = T::kText, .group = "Topology",
     .help = "The machine room: a preset or a TOML file", .example = "dgx1v", .fallback = "pcie-box",
     .placeholder = "FILE|PRESET"},
    {.name = "plan-ranks", .key = "", .type = T::kText, .group = "Topology",
     .help = "Ranks that contribute; unset is all of the topology", .example = "8", .placeholder = "N",
     .flag = "ranks"},
    {.name = "exchange-ranks", .key = "", .type = T::kText, .group = "Topology",
     .help = "Ranks that contribute, one number, A,B,C or A:B by doubling; unset is all of the topology",
     .example = "8", .placeholder = "N", .flag = "ranks"},
    {.name = "route", .key = "", .type = T::kText, .group = "Exchange",
     .help = "The way the bytes go: star, cpu, spread, chain, ring, ..., several with commas, all, or auto",
     .example = "ring", .fallback = "all", .placeholder = "ROUTE"},
    {.name = "plan-bytes", .key = "", .type = T::kText, .group = "Exchange",
     .help = "Bytes of the vector", .example = "160M", .fallback = "160M", .placeholder = "SIZE", .flag = "bytes"},
    {.name = "exchange-bytes", .key = "", .type = T::kText, .group = "Exchange",
     .help = "Bytes of the vector, one number, A,B,C or A:B by doubling", .example = "160M", .fallback = "160M",
     .placeholder = "SIZE", .flag = "bytes"},
    {.name = "op", .key = "", .type = T::kText, .group = "Exchange",
     .help = "What is exchanged: all-reduce, reduce, broadcast, all-gather or another operation", .example = "all-reduce",
     .fallback = "all-reduce", .placeholder = "OPERATION"},
    {.name = "no-pipeline", .key = "", .type = T::kFlag, .group = "Exchange",
     .help = "Send blocks whole, so that phases do not overlap, as textbooks count", .example = ""},
    {.name = "no-check", .key = "", .type = T::kFlag, .group = "Exchange",
     .help = "Count bytes and time alone, without moving real numbers to compare", .example = ""},
    {.name = "sharing", .key = "", .type = T::kChoice, .group = "Exchange",
     .help = "How messages share a link: first come, first served, or evenly, all at once", .example = "fair",
     .fallback = "fifo", .choices = "fifo|fair"},
    {.name = "message-cost", .key = "", .type = T::kText, .group = "Exchange",
     .help = "What either end of a message takes of a rank's processor, which does one thing at a time", .example = "2us",
     .fallback = "0", .placeholder = "TIME"},
    {.name = "reduce-rate", .key = "", .type = T::kText, .group = "Exchange",
     .help = "How fast a rank's processor adds what it receives; unset takes no time", .example = "10GB/s",
     .placeholder = "BANDWIDTH"},
    {.name = "plot", .key = "", .type = T::kText, .group = "Exchange",
     .help = "Also draw a picture: time against ranks or bytes, or what each link carries when",
     .example = "out.svg", .placeholder = "FILE"},
    {.name = "links", .key = "", .type = T::kChoice, .group = "Exchange",
     .help = "Which links --json gives the bytes of: the 64 busiest, or all", .example = "all",
     .fallback = "busiest", .choices = "busiest|all"},
    {.name = "ranks", .key = "", .type = T::kInt, .group = "Topology",
     .help = "Ranks of the preset; unset keeps its own number", .example = "8", .placeholder = "N", .low = 1,
     .high = 65536},
    {.name = "link-transport", .key = "", .type = T::kChoice, .group = "Topology",
     .help = "Shared memory, TCP, or threads of one process", .example = "tcp", .fallback = "shm",
     .choices = "shm|tcp|inproc", .flag = "transport"},
    {.name = "room", .key = "", .type = T::kText, .group = "Topology",
     .help = "Write a machine room of such links to this TOML file", .example = "here.toml",
     .placeholder = "FILE"},
    {.name = "room-ranks", .key = "", .type = T::kInt, .group = "Topology",
     .help = "Ranks of the room that --room writes", .example = "8", .fallback = "2", .placeholder = "N",
     .low = 2, .high = 10000, .flag = "ranks"},
    {.name = "costs-out", .key = "", .type = T::kText, .group = "Topology",
     .help = "Write what the transports and cores take to this TOML file, which THALWEG_COSTS_FILE may name for the ranks of groups",
     .example = "costs.toml", .placeholder = "FILE", .flag = "costs"},
    {.name = "routes", .key = "", .type = T::kText, .group = "Topology",
     .help = "Also time all routes of operations among so many ranks; --costs keeps the fastest, which groups of as many take",
     .example = "2,4", .placeholder = "RANKS[,RANKS...]"},
    {.name = "routes-limit", .key = "", .type = T::kDuration, .group = "Topology",
     .help = "How long --routes takes at most", .example = "5m", .fallback = "120s", .placeholder = "TIME", .low = 1,
     .high = 86400},
    {.name = "svg", .key = "", .type = T::kText, .group = "Topology",
     .help = "Also draw the room to this file, by Graphviz", .example = "room.svg", .placeholder = "FILE"},
    {.name = "room-format", .key = "", .type = T::kChoice, .group = "Topology",
     .help = "For people, as a file to change and show again, or for Graphviz", .example = "toml",
     .fallback = "text", .choices = "text|toml|dot", .flag = "format"},
    {.name = "run-processes", .key = "", .type = T::kInt, .group = kRanks,
     .help = "Ranks to start on this machine", .example = "4", .fallback = "1", .placeholder = "N", .low = 1,
     .high = 1024, .flag = "processes", .letter = 'n'},
    {.name = "nodes", .key = "", .type = T::kInt, .group = kRanks,
     .help = "Machines, on each of which the same command starts as many ranks", .example = "2",
     .fallback = "1", .placeholder = "N", .low = 1, .high = 1024},
    {.name = "node-rank", .key = "", .type = T::kInt, .group = kRanks,
     .help = "Which of the machines this is, from 0", .example = "1", .fallback = "0", .placeholder = "N",
     .low = 0, .high = 1023},
    {.name = "master-addr", .key = "", .type = T::kText, .group = kRanks,
     .help = "The machine of rank 0, as all others reach it", .example = "10.0.0.1",
     .fallback = "127.0.0.1", .placeholder = "HOST"},
    {.name = "master-port", .key = "", .type = T::kInt, .group = kRanks,
     .help = "Port for rank 0; unset holds a free one for it, or takes 29500 with --nodes", .example = "29500",
     .placeholder = "PORT", .low = 1, .high = 65535},
    {.name = "transport", .key = "run.transport", .type = T::kChoice, .group = kRanks,
     .help = "What groups move bytes by: auto is shared memory on one machine and TCP elsewhere",
     .example = "ucx", .fallback = "auto", .choices = "auto|shm|tcp|ucx", .alias = "fabric"},
    {.name = "label", .key = "", .type = T::kFlag, .group = kRanks,
     .help = "Begin each line of output with the rank", .example = ""},
    {.name = "rank-grace", .key = "", .type = T::kDuration, .group = kRanks,
     .help = "From SIGTERM to SIGKILL for ranks that must end", .example = "10s", .fallback = "5s",
     .placeholder = "TIME", .low = 0, .high = 3600, .flag = "grace"},
    {.name = "bench-ranks", .key = "", .type = T::kInt, .group = "Benchmark",
     .help = "Ranks: processes, or threads with --transport inproc", .example = "4", .fallback = "2",
     .placeholder = "N", .low = 1, .high = 64, .flag = "ranks"},
    {.name = "bench-transport", .key = "", .type = T::kChoice, .group = "Benchmark", .help = "Shared memory, TCP, UCX where it is installed, or threads of one process",
     .example = "tcp", .fallback = "shm", .choices = "shm|tcp|ucx|inproc", .flag = "transport",
     .alias = "fabric"},
    {.name = "bench-memory", .key = "", .type = T::kChoice, .group = "Benchmark", .help = "Where vectors are: memory as programs have it, or the group's own",
     .example = "group", .fallback = "ordinary", .choices = "group|ordinary", .flag = "memory"},
    {.name = "bench-op", .key = "", .type = T::kChoice, .group = "Benchmark",
     .help = "Operation to measure", .example = "all-gather", .fallback = "all-reduce",
     .choices = "all-reduce|reduce|reduce-scatter|all-gather|broadcast|all-to-all", .flag = "op"},
    {.name = "bench-bytes", .key = "", .type = T::kText, .group = "Benchmark",
     .help = "Smallest and largest vector, doubling; K, M and G are powers of 1024", .example = "4K:64M",
     .fallback = "8:4M", .placeholder = "A:B", .flag = "bytes"},
    {.name = "bench-route", .key = "", .type = T::kText, .group = "Benchmark",
     .help = "Route by name; unset lets the group choose", .example = "ring", .placeholder = "NAME",
     .flag = "route"},
    {.name = "bench-piece", .key = "", .type = T::kText, .group = "Benchmark",
     .help = "Blocks of --route travel in pieces of this size; unset sends them whole", .example = "128K",
     .placeholder = "SIZE", .flag = "piece"},
    {.name = "bench-channels", .key = "", .type = T::kInt, .group = "Benchmark", .help = "Equal parts of the vector that travel side by side by --route",
     .example = "2", .fallback = "1",
     .placeholder = "N", .low = 1, .high = 64, .flag = "channels"},
    {.name = "bench-costs", .key = "", .type = T::kText, .group = "Benchmark",
     .help = "Choose routes by what topo bench --costs wrote of this machine", .example = "costs.toml",
     .placeholder = "FILE", .flag = "costs"},
    {.name = "bench-type", .key = "", .type = T::kChoice, .group = "Benchmark",
     .help = "Type of the elements", .example = "f64", .fallback = "f32", .choices = "f32|f64|i32|i64|u64",
     .flag = "type"},
    {.name = "bench-redop", .key = "", .type = T::kChoice, .group = "Benchmark", .help = "How elements combine", .example = "max", .fallback = "sum",
     .choices = "sum|min|max", .flag = "redop"},
    {.name = "iterations", .key = "", .type = T::kInt, .group = "Benchmark",
     .help = "Timed calls of each size; unset takes 5 to 2000 by size", .example = "100",
     .placeholder = "N", .low = 1, .high = 1e6},
    {.name = "repeat", .key = "", .type = T::kInt, .group = "Benchmark",
     .help = "Passes over the data", .example = "5", .fallback = "5", .placeholder = "N", .low = 1,
     .high = 1e6},
    {.name = "origin", .key = "", .type = T::kFlag, .group = kOutput,
     .help = "Say where each value comes from", .example = ""},
    {.name = "deps", .key = "", .type = T::kFlag, .group = kOutput,
     .help = "List the libraries in the program and their versions", .example = ""},
    {.name = "man", .key = "", .type = T::kFlag, .group = kOutput,
     .help = "Print the manual page as roff", .example = ""},
    {.name = "config", .key = "", .type = T::kText, .common = true, .group = kCommon,
     .help = "Read options from a TOML file", .example = "thalweg.toml", .placeholder = "FILE"},
    {.name = "set", .key = "", .type = T::kText, .common = true, .group = kCommon,
     .help = "Set one option by its key in the configuration file", .example = "train.rate=0.05",
     .placeholder = "KEY=VALUE", .repeats = true},
    {.name = "json", .key = "output.json", .type = T::kFlag, .common = true, .group = kCommon,
     .help = "End standard output with one line of JSON: the result or the error", .example = ""},
    {.name = "quiet", .key = "output.quiet", .type = T::kFlag, .common = true, .group = kCommon,
     .help = "Write nothing to standard error but errors and warnings", .example = "", .letter = 'q'},
    {.name = "verbose", .key = "output.verbose", .type = T::kFlag, .common = true, .group = kCommon,
     .help = "Say more on standard error", .example = "", .letter = 'v'},
    {.name = "help", .key = "", .type = T::kFlag, .common = true, .group = kCommon,
     .help = "Show this help", .example = "", .letter = 'h'},
};
// clang-format on

template <class Test>
const OptionRow* find_row(Test test) {
  const auto* found = std::find_if(std::begin(kRows), std::end(kRows), test);
  return found == std::end(kRows) ? nullptr : found;
}

}  // namespace

std::span<const OptionRow> option_rows() { return kRows; }

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

const OptionRow* find_option(std::string_view name) {
  return find_row([&](const OptionRow& row) { return row.name == name; });
}

const OptionRow* find_key(std::string_view key) {
  if (key.empty()) return nullptr;
  if (const OptionRow* row = find_row([&](const OptionRow& one) { return one.key == key; })) return row;
  return find_row([&](const OptionRow& row) {
    const auto keys = alias_keys(row);
    return std::find(keys.begin(), keys.end(), key) != keys.end();
  });
}

std::vector<std::string> alias_keys(const OptionRow& row) {
  std::vector<std::string> keys;
  if (row.key.empty()) return keys;
  for (const std::string_view alias : split(row.alias, '|')) {
    std::string& key = keys.emplace_back(row.key.substr(0, row.key.find('.') + 1));
    for (const char c : alias) key += c == '-' ? '_' : c;
  }
  return keys;
}

std::string_view choices_of(const OptionRow& row) { return row.list != nullptr ? row.list() : row.choices; }

std::string_view spelling(const OptionRow& row) { return row.flag.empty() ? row.name : row.flag; }

std::vector<std::string_view> spellings(const OptionRow& row) {
  std::vector<std::string_view> names = split(row.alias, '|');
  names.insert(names.begin(), spelling(row));
  return names;
}

namespace {

std::string as_variable(std::string_view spelt) {
  std::string name = "THALWEG_";
  for (const char c : spelt)
    name += c == '-' ? '_' : static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
  return name;
}

}  // namespace

std::string variable_name(const OptionRow& row) {
  if (row.name == "config") return "THALWEG_CONFIG";
  return row.key.empty() ? std::string() : as_variable(row.name);
}

bool is_variable_of(std::string_view variable, const OptionRow& row) {
  if (variable_name(row) == variable) return true;
  if (row.key.empty()) return false;
  const auto aliases = split(row.alias, '|');
  return std::any_of(aliases.begin(), aliases.end(),
                     [&](std::string_view alias) { return as_variable(alias) == variable; });
}

std::string placeholder_text(const OptionRow& row) {
  if (row.type == OptionType::kFlag) return {};
  return std::string(row.type == OptionType::kChoice ? choices_of(row) : row.placeholder);
}

}  // namespace thalweg
