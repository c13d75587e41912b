"""What is known of words beforehand: which nouns name a kind of thing, which names are known, which words name nothing.

General words of scientific English, and names that many papers share. What a paper calls its own is learned from the
paper (graph/paper_terms.py). Everything is in lower case and singular, as `graph.names.canonical` makes it.
"""

from __future__ import annotations

from ragscience.graph.entity_names import canonical

__all__ = [
    "BREAKS",
    "CONTINUES",
    "ED_MODIFIERS",
    "FUNCTION_WORDS",
    "GENERIC_HEADS",
    "HARDWARE",
    "HEADS",
    "ING_NOUNS",
    "IN_LOWER_CASE",
    "KNOWN",
    "NOUN_ENDINGS",
    "NO_NAMES",
    "ORGANISATIONS",
    "PREFIXES",
    "S_MODIFIERS",
    "TASK_HEADS",
    "TOGETHER",
    "WEAK",
    "WORDS_TOO",
]


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_GENERIC = {
    "METHOD": "model network architecture framework method approach technique",
    "ALGORITHM": "algorithm optimizer optimiser solver",
    "DATASET": "dataset corpus corpora benchmark treebank",
    "METRIC": "score accuracy",
}
GENERIC_HEADS = {word: kind for kind, words in _GENERIC.items() for word in words.split()}
"""Nouns that a name of their kind may be followed by: "BERT model", "SQuAD dataset"."""

_HEADS = {
    "METHOD": """
    transformer autoencoder classifier retriever reranker perceptron regression forest ensemble prompting
    distillation augmentation regularization regularisation normalization normalisation dropout clipping
    checkpointing smoothing quantization pruning tuning fine-tuning finetuning adaptation scheme protocol parser
    tagger autoencoding encoder decoder encoding penalty masking parallelism weighting caching pooling boosting
    bagging imputation factorization decomposition
    """,
    "ALGORITHM": "descent backpropagation clustering hashing heuristic sort decoding sampling",
    "DATASET": "",
    "METRIC": "perplexity f1 throughput latency similarity distance divergence",
    "CONCEPT": """
    system engine attention embedding function loss distribution gradient layer connection learning training
    pre-training representation matrix vector memory mechanism tokenization feedback likelihood curvature prior
    posterior variance bias dropout rank complexity bandwidth hypothesis theorem equation kernel graph tree leader
    election cache document-frequency frequency weight decay filter convolution space policy reward preference
    agent ontology bound inequality entropy noise signal spectrum field potential energy particle wave flow
    pressure temperature reaction catalyst compound molecule protein gene genome cell receptor antibody enzyme
    pathway mutation tissue neuron cortex disease syndrome disorder infection anaemia anemia deficiency therapy
    treatment symptom tumor cancer vaccine virus bacterium biomarker hormone dose trial cohort meta-analysis
    eigenvector eigenvalue eigenspace subspace manifold polynomial integral derivative jacobian hessian operator
    transform automaton grammar compiler scheduler thread replica quorum consensus shard partition transaction
    lock file-system consistency availability fault failure latch broadcast multicast packet topology router
    bottleneck shortcut window vocabulary lexicon phrase n-gram subword alignment corpus-frequency stopword hub
    authority link hyperlink anchor community authority-weight jump damping crawler query expansion hyperparameter
    schedule momentum moment curriculum rollout trajectory softmax sigmoid nonlinearity activation perturbation
    probability confidence calibration uncertainty ablation bleaching hallucination factuality toxicity
    alignment-tax helpfulness truthfulness robustness generalization overfitting underfitting
    """,
}
HEADS = {word: kind for kind, words in _HEADS.items() for word in words.split()} | GENERIC_HEADS
"""The last noun of a term tells what kind of thing it is."""

TASK_HEADS = _words("""
    translation classification answering summarization summarisation recognition detection parsing generation
    retrieval inference segmentation prediction extraction tagging resolution labeling labelling modeling
    modelling completion reasoning understanding verification forecasting recommendation
    """)
"""Heads of what is done rather than how; a concept where tasks are not asked for."""

NOUN_ENDINGS = ("tion", "sion", "ment", "ness", "ity", "ance", "ence", "ism", "ogy", "sis", "emia", "aemia", "itis")
"""How a noun that is in no list may be told."""

_KNOWN = {
    "METRIC": """
    accuracy; precision; recall; perplexity; f1; f1 score; f score; bleu; sacrebleu; rouge; rouge l; rouge 1;
    rouge 2; meteor; chrf; comet; ter; cider; auc; auroc; auprc; roc auc; ndcg; mrr; mean average precision;
    average precision; map@k; recall@k; precision@k; exact match; word error rate; wer; bits per character;
    bits per byte; bpc; mean squared error; mean absolute error; rmse; mae; mse; r squared; pearson correlation;
    spearman correlation; cohen's kappa; intersection over union; iou; fid; inception score; psnr; ssim;
    elo rating; sensitivity; specificity; odds ratio; hazard ratio; risk ratio; relative risk; mean difference;
    weighted mean difference; matthews correlation coefficient; cosine similarity; edit distance;
    levenshtein distance; kl divergence; kullback leibler divergence; top 1 accuracy; top 5 accuracy; top 1 error;
    top 5 error; error rate; test error; classification error; validation error; word overlap; win rate;
    false positive rate; true positive rate; hit rate; human evaluation score; test perplexity;
    validation perplexity; inter annotator agreement
    """,
    "DATASET": """
    imagenet; mnist; cifar 10; cifar 100; cifar10; cifar100; svhn; coco; ms coco; pascal voc; squad; squad 1.1;
    squad 2.0; squad v1.1; squad v2.0; glue; superglue; mnli; qnli; qqp; sst 2; cola; sts b; mrpc; rte; wnli;
    snli; multinli; race; swag; hellaswag; winogrande; boolq; copa; multirc; record; mmlu; truthfulqa; gsm8k;
    svamp; aqua; asdiv; mawps; strategyqa; commonsenseqa; big bench; humaneval; lambada; wikitext 2; wikitext 103;
    wikitext103; enwik8; text8; penn treebank; ptb; one billion word benchmark; 1 billion word benchmark; webtext;
    openwebtext; common crawl; c4; the pile; bookcorpus; bookscorpus; ms marco; ms marco passage;
    natural questions; triviaqa; webquestions; curatedtrec; hotpotqa; fever; eli5; wizard of wikipedia; wikipedia;
    english wikipedia; conll 2003; ontonotes; wmt 2014; wmt14; wmt 14; wmt 2016; wmt16; iwslt; europarl; xsum;
    cnn daily mail; cnn/daily mail; cnn/dailymail; gigaword; imdb; yelp; ag news; librispeech; timit; switchboard;
    mimic iii; uniref50; pubmedqa; medqa; beir; trec car; realtoxicityprompts; winogender; crows pairs; pg 19;
    path x; path 256; long range arena; wikisql; samsum; e2e nlg; dart; webnlg; wall street journal; brown corpus;
    writingprompts; stanford sentiment treebank; lsun; celeba; openimages; kinetics
    """,
    "ALGORITHM": """
    stochastic gradient descent; gradient descent; sgd; adam; adamw; adagrad; adadelta; rmsprop; adamax;
    adafactor; lamb; lbfgs; l bfgs; sfo; backpropagation; back propagation; backprop; beam search;
    greedy decoding; nucleus sampling; top k sampling; k means; expectation maximization; em algorithm;
    viterbi algorithm; dynamic programming; markov chain monte carlo; gibbs sampling; importance sampling;
    monte carlo tree search; q learning; proximal policy optimization; ppo; trpo; dijkstra's algorithm; a* search;
    byte pair encoding; bpe; wordpiece; sentencepiece; simulated annealing; newton's method; runge kutta;
    power iteration; power method; paxos; multi paxos; pagerank; simplex algorithm; nesterov momentum;
    grid search; random search; binary search; hungarian algorithm; porter stemmer; maximum inner product search;
    levenberg marquardt; conjugate gradient; metropolis hastings; quicksort; nearest neighbor search;
    approximate nearest neighbor search; kernel fusion
    """,
    "METHOD": """
    neural network; convolutional neural network; recurrent neural network; feedforward neural network;
    feed forward neural network; convolutional network; recurrent network; deep neural network; residual network;
    variational autoencoder; lstm; long short term memory; long short term memory network; gated recurrent unit;
    bi lstm; bilstm; bidirectional lstm; gru; rnn; cnn; mlp; gan; vae; resnet; resnet 50; resnet 101; resnet 152;
    vgg; vgg 16; alexnet; googlenet; densenet; unet; vit; clip; gpt; gpt 2; gpt 3; gpt 4; instructgpt; chatgpt;
    bert; roberta; albert; electra; deberta; distilbert; bart; t5; ul2; palm; lamda; gopher; chinchilla; llama;
    codex; elmo; word2vec; glove; fasttext; tf idf; bm25; dpr; colbert; knn lm; support vector machine; svm;
    random forest; logistic regression; linear regression; naive bayes; decision tree;
    principal component analysis; pca; singular value decomposition; svd; latent semantic indexing; lsa; lda;
    gaussian process; hidden markov model; hmm; conditional random field; crf; feed forward network; seq2seq;
    sequence to sequence model; transformer; transformer xl; xlnet; reformer; linformer; performer; longformer;
    lora; prefix tuning; adapter tuning; batch normalization; layer normalization; weight normalization; dropout;
    data augmentation; label smoothing; early stopping; knowledge distillation; weight decay; gradient clipping;
    multi head attention; knn; cross validation; mapreduce; hadoop; reinforcement learning from human feedback;
    rlhf; chain of thought prompting; few shot prompting
    """,
    "CONCEPT": """
    self attention; attention; language model; language modeling; machine learning; deep learning;
    reinforcement learning; transfer learning; supervised learning; unsupervised learning;
    representation learning; multi task learning; zero shot learning; few shot learning; in context learning;
    natural language processing; nlp; natural language inference; nli; natural language generation; nlg;
    natural language understanding; nlu; ner; srl; machine reading comprehension; word sense disambiguation;
    information retrieval; question answering; machine translation; neural machine translation; nmt;
    speech recognition; image classification; object detection; sentiment analysis; named entity recognition;
    text classification; word embedding; softmax; overfitting; maximum likelihood; learning rate; loss function;
    objective function; hidden state; activation function; residual connection; skip connection; cross entropy;
    principal eigenvector; markov chain; random walk; fault tolerance; strong consistency; linearizability;
    state machine replication; distributed system; social network; operating system; file system; state machine;
    log likelihood; hyperparameter; web search; search engine; knowledge base; knowledge graph;
    relevance feedback; query expansion; inverse document frequency; term frequency; vanishing gradient;
    attention mechanism; relu; gelu; coreference resolution; semantic role labeling; textual entailment; ode;
    ordinary differential equation; tokenization
    """,
}
KNOWN = {canonical(name): kind for kind, names in _KNOWN.items() for name in names.split(";") if name.strip()}
"""Names that need no evidence but their own, by `canonical`; they count wherever they stand."""
WORDS_TOO = _words("""
    race record swag copa dart fever palm bart meteor comet ter glove cola coco glue squad clip lamb lsun cider
    imdb fid chrf mae mse wer iou auc gan vae lda lsa pca svd crf hmm svm mlp cnn rnn gru dpr rte elmo t5 c4 ppo
    albert electra
    """)
"""Known names that are names only with two capitals: else they are words, or letters of a formula."""
IN_LOWER_CASE = _words("""
    accuracy precision recall perplexity sensitivity specificity dropout backpropagation backprop pagerank
    word2vec webtext text8 enwik8 transformer
    """)
"""Known names of one word, no concepts, that count in lower case too."""
TOGETHER = ({"precision", "recall"}, {"sensitivity", "specificity"})
"""Words that are metrics where they stand in one sentence, and much else where they do not."""

HARDWARE = _words("""
    gpu cpu tpu v100 a100 p100 k80 h100 t4 ram nvidia tesla rtx titan xeon intel amd cuda pcie ssd gb mb kb tb ghz
    mhz gflop tflop flop cudnn linux windows unix ibm sun kepler ampere xla fp16 fp32 bf16 int8 pytorch tensorflow
    huggingface jax keras github numpy python java apex allennlp spacy
    """)
"""Machines, units and makes: no entity of ours."""

ORGANISATIONS = _words("""
    google openai deepmind microsoft facebook meta nvidia amazon apple ibm baidu alibaba tencent huawei mozilla
    yahoo stanford mit harvard princeton berkeley cornell caltech oxford cambridge eth nist darpa arpa nasa cern
    who fda nih nsf epfl inria cmu ucl nyu ieee acm usenix duke vmware surge anthropic salesforce upwork
    """)

NO_NAMES = _words("""
    figure fig table section sec appendix equation eq eqn theorem lemma corollary proposition definition algorithm
    chapter step phase stage case example task january february march april may june july august september october
    november december monday tuesday wednesday thursday friday saturday sunday english french german chinese
    japanese spanish italian russian arabic romanian european american asian african british korean dutch finnish
    czech turkish usa uk us eu china germany france japan canada london paris york california boston chicago
    america india africa asia europe i ii iii iv v vi vii viii ix x abstract introduction conclusion references
    related discussion results methods background acknowledgments acknowledgements keywords arxiv iclr icml nips
    neurips acl emnlp naacl cvpr iccv eccv aaai ijcai sigir kdd www osdi sosp usenix pdf url http https html ascii
    utf json xml api doi isbn issn copyright cc et al ps pp vs ok yes no na n/a todo true false none null inf nan
    prof dr mr mrs ms phd ceo eos cls sep mask bos pad unk input output answer question note ours baseline avg std
    min max var dev test train all total mean model name size best acc id sota qa params lr ffn input-output q/a
    ai dec. enc lm lms pm am bc ad usd et-al ml llm llms
    """)
"""Words that look like a name and are none of ours: places, languages, venues, parts of a paper."""

_FUNCTION = """
    a about above across after again against all almost alone along already also although always am among amongst
    an and another any anything are around as at away back be because been before behind being below beneath
    beside besides between beyond both but by can cannot could despite did do does doing done down due during each
    either else enough even ever every everything except far few for from further furthermore get given gives had
    has have having he hence her here hers herself him himself his how however i if in indeed inside instead into
    is it its itself just last least less let lets like likewise many may me meanwhile might mine more moreover
    most mostly much must my myself near nearly need neither never nevertheless no nobody none nor not nothing now
    of off often on once one ones only onto or other others otherwise ought our ours ourselves out outside over
    own per perhaps quite rather re really regarding same seldom several shall she should since so some somehow
    something sometimes somewhat soon still such than that the their theirs them themselves then there thereby
    therefore therein these they this those though through throughout thus till to together too toward towards
    under unless unlike until up upon us usually very via was we well were what whatever when whenever where
    whereas whereby wherein whether which while who whoever whole whom whose why will with within without would
    yes yet you your yours vs versus etc e.g i.e eg ie cf et al two three four five six seven eight nine ten
    eleven twelve hundred thousand million billion trillion first second third fourth fifth
    """
_VERBS = """
    achieve achieves add adds allow allows apply applies appear appears assume assumes attain avoid avoids become
    becomes begin begins build builds call calls carry cause causes choose chooses combine combines come comes
    compare compares compute computes consider considers consist consists contain contains contribute converge
    converges convert create creates decide define defines demonstrate demonstrates denote denotes depend depends
    derive describe describes design determine determines develop differ differs discuss employ employs enable
    enables encode encodes ensure ensures evaluate evaluates examine exceed exhibit exist exists expect explain
    explore extend extends fail fails find finds fit fits fix focus follow follows form forms gain generate
    generates give go goes grow grows guarantee handle happen help helps hold holds identify illustrate implement
    implies imply improve improves include includes increase increases indicate indicates inform initialize
    introduce introduces investigate involve involves keep keeps know lead leads learn learns leave leaves lie
    lies limit limits look looks lose maintain maintains make makes match matches maximize mean means measure
    measures minimize modify move note obtain obtains occur occurs offer operate optimize outperform outperforms
    perform performs permit pick play predict predicts prefer present presents preserve prevent prevents produce
    produces propose proposes prove proves provide provides put reach reaches read receive receives recall recover
    reduce reduces refer refers rely relies remain remains remove remember replace report reports require requires
    resemble result resulting retain return returns reveal run runs sample satisfy save say says scale scales see
    seek seem seems select selects send sends serve serves set sets share shares show shows solve start starts
    stay stop store stores study suffer suffers suggest suggests suppose take takes tend tends test think train
    trains treat try turn understand update updates use uses using utilize vary varies verify view want work works
    write writes yield yields made shown seen known given taken found kept held built sent got led chosen written
    drawn left thought brought ran gave took went came became began grew fell rose lost won said told knew felt
    """
_ADJECTIVES = """
    new novel different various certain specific general particular similar common main major minor key important
    significant good better best bad worse worst large larger largest small smaller smallest big bigger huge great
    greater high higher highest low lower lowest long longer longest short shorter shortest full entire complete
    partial simple simpler easy hard difficult possible impossible available able unable appropriate suitable
    relevant irrelevant useful effective efficient powerful strong stronger strongest weak weaker existing
    previous prior current recent early earlier late later next final initial original additional extra further
    subsequent respective corresponding following overall total average typical standard conventional traditional
    usual normal regular special single multiple double triple individual separate whole actual real true false
    correct incorrect right wrong exact approximate rough clear obvious interesting surprising potential promising
    successful popular famous public private internal external single-model own first second third last left top
    bottom upper better-performing state-of-the-art sota so-called well-known straightforward competitive
    comparable equivalent equal identical necessary sufficient optional desired required intended proposed
    baseline base resulting underlying related modern current-day today simple-minded quick quickly fast faster
    slow slower rich poor close closer near open free ideal numerous considerable consistent non-trivial
    reasonable sensible likely unlikely plausible sole rare frequent primary secondary principal-only fewer fewest
    half quarter dozen simultaneous sequential-only final-layer one-to-one trivial arbitrary candidate old steady
    moderate alternative practical accurate little deeper downstream well-established off-the-shelf careful
    explicit thorough experimental basic latter former superior reliable feasible robust ever such-like
    contemporary unknown known empirical theoretical ready extensive intensive direct indirect non same-size
    one-shot-only candidate-only today's our their its random-like target-like vanilla smaller-scale larger-scale
    big-name year month day week hour minute time number amount set subset part kind type sort way form example
    case result experiment figure table section appendix paper work study author researcher reader people person
    user labeler human thing fact idea reason issue problem goal aim purpose advantage benefit drawback limitation
    challenge improvement performance quality effect impact influence role importance value point level degree
    extent range variety pair group list row column line equation page item element object member instance bit lot
    incorporate une support plant hoc direction instruction prioritize superhuman publicly-available official
    concise paragraph shape model-generated raw university institution foundation department conference majority
    minority sentence sequence evidence implementation collection description completion situation question
    publication option position portion proportion addition condition combination application operation evaluation
    initialization activity capability ability possibility availability presence absence difference reference
    existence sense science experience audience confidence-only requirement environment-only comment document
    argument statement moment-only judgement judgment assessment treatment-only comparison version decision
    dimension discussion conclusion
    """
FUNCTION_WORDS = _words(_FUNCTION)
BREAKS = _words(f"{_FUNCTION} {_VERBS} {_ADJECTIVES}")
"""Words that no term begins with or goes across."""

WEAK = _words("""
    training evaluation validation development testing text source target parameter input output pre-trained
    pretrained fine-tuned finetuned deep data supervised unsupervised neural human natural task-specific task
    domain-specific domain application production web-scale large-scale small-scale machine computer image word
    language-agnostic high-capacity attention parametric learned-only semi-supervised feature-based leader-based
    publicly software research search answering scientific single-task generic detection classification
    """)
"""Modifiers that tell little before a noun as general as "model" or "data set"."""
CONTINUES = _words("""
    rate size set data step token word time task length number point cost test code unit value pair rule text
    image source output input file name level curve schedule block stage server user machine system process object
    problem design software paper theory community researcher experiment setting variant family weight parameter
    """)
"""Nouns that a term goes on with, and so does not end before."""
PREFIXES = _words("""
    fully high low long short multi full early real locally left right
    """)
"""Words that no term begins with but those that hardly ever stand without it: "high bandwidth memory"."""
ED_MODIFIERS = _words("""
    supervised unsupervised semi-supervised self-supervised distributed augmented masked gated weighted
    regularized randomized controlled nested embedded feed speed need seed biased unbiased directed undirected
    bounded unbounded stacked dilated paired replicated scaled connected balanced truncated centralized
    decentralized federated
    """)
"""Participles that are part of terms; others in -ed are not."""
ING_NOUNS = _words("""
    learning embedding encoding decoding processing sampling matching ranking reasoning answering modeling
    modelling pooling hashing clustering prompting tuning pretraining finetuning batching caching mining computing
    programming scheduling logging indexing smoothing weighting routing masking parsing labeling reading
    understanding streaming operating voting tracking boosting vanishing spelling string
    """)
"""Words in -ing that may begin a term."""
S_MODIFIERS = frozenset(
    [
        "bayes",
        "series",
        "statistics",
        "physics",
        "news",
        "mathematics",
        "dynamics",
        "kutta",
        "hastings",
        "loss",
        "cross",
        "access",
        "class",
        "process",
        "analysis",
        "markov",
        "consensus",
        "bias",
        "focus",
        "status",
        "nucleus",
        "corpus",
        "basis",
        "axis",
        "gas",
        "mass",
        "stress",
        "business",
        "previous",
        "continuous",
        "recurrent",
        "heterogeneous",
        "homogeneous",
        "simultaneous",
        "autonomous",
        "synchronous",
        "asynchronous",
        "stochastic",
        "thesaurus",
        "genus",
        "ss",
        "is",
    ]
)
"""Words in -s before a head that are no plurals."""
