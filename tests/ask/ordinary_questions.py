"""Questions of what papers say that look as if they were of the papers themselves, the library or the program."""

QUESTIONS = """
What learning rate does Adam use by default?
How is positional encoding done in the Transformer?
Who proposed layer normalization?
Who introduced the residual connection?
Who trained the annotators?
Who labeled the data?
When does training converge?
When was the data collected?
When should dropout be used?
Where is dropout applied?
Where do the gradients vanish?
Where does the model fail?
Which dataset was used for training?
Which data sets does BERT use?
Which paper proposes the best optimizer?
Which papers disagree about dropout?
Which paper has the highest BLEU score?
Which of the papers is better for beginners?
Which papers should I read first?
Which model is the largest?
Which authors disagree?
Which year had the most infections?
How many layers does the model have?
How many parameters does GPT-2 have?
How many documents were indexed?
How many documents does the collection contain?
How many papers did the annotators read?
How many articles were included in the meta-analysis?
How many studies were excluded, and why?
How many patients were enrolled in 2014?
How many pages did the crawler download?
How many pages does Google index?
How many authors have a page on the web?
How long is the training?
How long is the longest sequence?
How long does a query take?
How old were the patients?
How old is the method?
How often is the leader elected?
How often does the model hallucinate?
How do I compute attention?
How do I choose the learning rate?
How do I add noise to the gradient?
How do we remove duplicates from the corpus?
How can I reproduce the results?
How can we limit the length of the answers?
How to evaluate a retriever?
How to build an inverted index?
How to cluster documents by topic?
How does it work?
How does the search engine rank pages?
How are documents added to the index?
How are citations counted?
How is the citation graph used?
How do they cite earlier work?
Can the model read images?
Can you explain beam search?
Can you compare LSTM and GRU?
Can I use Adam for sparse gradients?
Can it run offline?
Is dropout used?
Is the code available?
Is BERT on GitHub?
Is attention used in the decoder?
Is ImageNet used for pre-training?
Is there a difference between pre-norm and post-norm?
Is there any evidence that it works?
Are there limitations?
Are the results significant?
Does the paper use dropout?
Does BERT use dropout?
Does the model use attention?
Does anyone get better results?
Do the authors mention limitations?
Do the authors compare with baselines?
Do larger models use more data?
What do the papers say about dropout?
What do the authors conclude?
What is the paper about?
What is the title of the dataset?
What is the date of the crawl?
What is the length of the context?
What is the number of layers?
What is the latest version of the model?
What is the newest benchmark?
What is the reference frame?
What is the year effect in the regression?
What are the topics of the Wikipedia articles?
What topics does the model discuss?
What can you say about scaling?
What can the model do?
What does it cite?
What conference data were used?
What papers inspired the method?
What studies support this?
What library was used for training?
What is the library of functions?
What is in the library routine?
What commands does the robot understand?
What options did the authors consider?
What files does the system write?
What mentions are linked to entities?
List the datasets used in the chain of thought paper
List the hyperparameters
List all baselines
Show the results on GLUE
Show how attention works
Show papers that support it better than others
Find the value of beta2
Summarize the LoRA paper
Summarize the documents that are retrieved
Describe the library call
Compare BERT and ELMo
Cite evidence for the claim that depth helps
Reference the equation for attention
Explain the newest results
papers
documents
2018
by Hinton
attention
"""

SEARCHED = """
What do the papers say about the limits of honey traps?
Which papers use more traps than hives?
Which paper has the best results on GLUE?
Who uses the honey that bees make in winter?
How do the bees use honey?
Does Waggle use honey traps?
Which traps are used?
Which papers use a method that needs no bees at all for long flights?
What is the capital of France?
Who wrote the code of Waggle?
Who wrote the code of Waggle, and when?
When and where do bees dance?
What does Waggle measure, and where?
When was the experiment done?
How long is a waggle dance?
What year did the winter begin?
Where was the hive?
Who proposed Waggle?
How old is the queen?
Which papers have the best results?
What is the paper about?
What is attention about?
What topics does LDA find?
How do I add a layer to the model?
How do we use language models?
How does dropout help?
How to evaluate retrieval?
Can you explain attention?
How do they read scanned pages?
Can we search the web graph?
How is the index built?
How do we remove noise from documents?
"""
"""Those that are always searched for."""
