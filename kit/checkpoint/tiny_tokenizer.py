"""How the small tokenizer of `cpu-tiny` was made: `python -m kit.checkpoint.tiny_tokenizer FILE`.

Covers: a corpus written by this file alone (no downloaded text, no randomness: a counter picks the words),
byte-level BPE trained on it with the published Qwen3.5 pretokenizer pattern, NFC in the file, and the
special tokens appended after training, so that `!`..`~` keep ids 0..93 and the labels sit at 32-57, 15-20.
Does not cover: quality as a compressor of other text. The result is committed as `tiny/base/tokenizer.json`;
nothing trains at run time.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

from kit.checkpoint.tokens import PRETOKENIZER, SPECIAL_TOKENS, added_tokens

BPE_SIZE = 4032  # ids of learned tokens; specials follow, the model's rows are padded to 4096

PROSE = """
the of and to in is that it for on with as at this by from be or are an was not have has had you your we our
they their he she his her its will would can could should may must do does did done been being if then else when
while where which who what why how all any each every some none one two three four five six seven eight nine ten
first second third last next previous current new old open opened close closed start started stop stopped begin
end ended before after during until since about above below between under over inside outside into onto through
across against without within more most less least many much few several other another same different only also
just still already never always often sometimes again once twice here there now later soon today tomorrow
yesterday morning evening night week month year hour minute second day date time zone left right top bottom middle
center up down back forward away near far high low long short large small big little full empty good bad better
best worse worst right wrong true false yes no maybe please thanks hello sorry need needs needed want wants wanted
use used uses using make made makes making take took taken takes taking give gave given gives giving get got gets
getting go goes went gone going come came comes coming see saw seen sees seeing look looks looked looking find
found finds finding know knew known knows think thought thinks ask asked asks asking answer answered answers tell
told tells say said says show shown shows showing keep kept keeps keeping let lets leave left leaves call called
calls calling try tried tries trying turn turned turns turning move moved moves moving change changed changes
changing run ran runs running read reads reading write wrote written writes writing send sent sends sending receive
received receives pay paid pays paying buy bought buys sell sold sells cost costs price prices build built builds
break broke broken breaks fix fixed fixes fixing test tested tests testing check checked checks checking compare
compared compares report reported reports reporting explain explained explains describe described describes
select selected selects choose chosen chooses pick picked picks prefer preferred prefers decide decided decides
allow allowed allows deny denied denies accept accepted accepts reject rejected rejects approve approved approves
confirm confirmed confirms cancel cancelled cancels remove removed removes delete deleted deletes add added adds
insert inserted update updated updates create created creates save saved saves load loaded loads copy copied paste
download downloaded upload uploaded install installed enable enabled disable disabled restart restarted reset
people person man woman child team teams group groups company business office home house city country street road
school university hospital market store shop bank hotel restaurant airport station train bus car bike plane ship
water food coffee tea bread fruit apple orange lemon meat fish rice music movie book books page pages letter
letters word words name names number numbers value values amount total sum average count list lists table tables
row rows column columns line lines cell cells box boxes field fields form forms button buttons menu menus icon
icons label labels title titles text image images picture pictures photo screen screens window windows tab tabs
panel panels dialog dialogs banner toolbar sidebar header footer cursor pointer mouse keyboard click clicks scroll
drag drop type typed press hold link links url address phone email message messages reply replies thread inbox
red green blue yellow black white gray grey dark light bright pale warm cold hot cool dry wet heavy quick slow
fast easy hard simple complex clear unclear safe unsafe public private secret local remote global internal
external manual automatic automatically normal strange usual unusual certain uncertain possible impossible likely
unlikely important urgent critical minor major severe mild calm angry happy sad ready busy free available missing
present absent valid invalid correct incorrect exact exactly nearly almost quite rather very too enough together
""".split()

WORK = """
state question candidate candidates option options choice choices score scores level levels criteria criterion
instructions description action actions tool tools tool_name operation parameters properties required default
string integer boolean object array enum metric imperial celsius request response queue agent agents route router
routing ticket tickets triage support customer customers account accounts billing invoice invoices payment
payments refund refunds charge charged subscription subscriptions order orders delivery shipping shipment package
packages tracking warehouse stock item items product products category categories priority priorities severity
incident incidents outage outages alert alerts warning warnings error errors failure failures timeout retry
retries latency throughput memory disk storage network server servers client clients database databases cluster
node nodes region regions service services deploy deployment deployments release releases rollback version versions
build pipeline pipelines branch commit merge conflict repository review reviewer pull push code function functions
module modules class method variable argument arguments parameter return returns exception traceback log logs
logging debug info trace config configuration setting settings profile profiles user users admin login logout
password token tokens session sessions permission permissions role roles access policy policies security audit
encrypt decrypt certificate key keys hash signature backup backups restore snapshot workspace workspaces project
projects task tasks todo backlog sprint milestone deadline schedule scheduled calendar meeting meetings agenda
reminder invite attendee room video audio call recording transcript summary summarise summarize translate
translation search query queries filter filters sort sorted result results document documents file files folder
folders directory path image/png screenshot screenshots console terminal command commands output input prompt
browser page checkout cart basket coupon discount tax currency euro dollar pound exchange rate balance transfer
deposit withdraw loan mortgage insurance claim claims fraud suspicious verified verification identity passport
visa flight flights booking bookings reservation seat seats gate terminal luggage weather forecast temperature
humidity wind rain snow storm cloud sunny location locations map maps route distance kilometre mile traffic
doctor patient patients clinic appointment appointments symptom symptoms fever cough pain medicine dose allergy
contract contracts clause clauses lawyer court legal compliance privacy consent deletion retention export import
sensor sensors device devices battery firmware motor valve pump pressure voltage current frequency threshold
calibration measure measured measurement measurements unit units sample samples batch quality defect defects
inspection machine machines factory line operator operators shift maintenance repair spare part parts supplier
language model models inference engine engines reference native graph kernel kernels tensor tensors weight weights
adapter adapters layer layers attention linear hidden logits probability probabilities confidence temperature
margin drift evidence verdict bundle manifest checksum digest seed dataset corpus record records replay capture
""".split()

OTHER = """
café naïve résumé jalapeño Zürich München São Tomé Malmö Łódź über straße señor año niño garçon où déjà
工作区 请求 打开 关闭 设置 用户 客户 订单 退款 支付 发票 问题 候选 选择 答案 状态 错误 警告 工具 图片 屏幕 文件 搜索 天气 北京 上海
東京 大阪 こんにちは ありがとう 注文 検索 설정 주문 안녕하세요 Привет Ошибка заказ поиск مرحبا طلب שלום γειά
""".split()

FRAMES = (
    "Choose the best available candidate for the question using only the supplied state. "
    "Return exactly one candidate label.",
    "State:\n{0} {1} {2}\n\nQuestion: Which {3} should handle the {4}?\n\nCandidates:\nA) {5} {6}\nB) {7}\n"
    "C) no {8}\n\nAnswer with exactly one candidate label.",
    '{{"{0}": "{1}", "{2}_{3}": {9}, "{4}": true, "{5}": null, "{6}": ["{7}", "{8}"]}}',
    '{{"{0}":"{1}","{2}_id":"{3}-{9}","{4}":{{"{5}":{9}.5,"{6}":false}},"{7}":[{9},0]}}',
    "The {0} {1} {2} the {3} {4}, and the {5} {6} {7} {8}.\n",
    "{0} {1} is {2}; {3} was {4} at {9}:30. {5}'s {6} didn't {7}, it's {8}!\n",
    "- {0}: {1} {2}\n- {3}: {4} {5} ({9} {6})\n* {7} -> {8}\n\n",
    "def {0}_{1}({2}, {3}={9}):\n    if {4} is None:\n        return {5}\n    return {6}[{7}] + {8}\n",
    "{0} — {1} | params: {2}*, {3}={4}\n[{5}] {6}/{7} <{8}>\n",
    "2026-0{9}-1{9} 1{9}:4{9}:0{9} ERROR {0}.{1}: {2} {3} failed after {9} ms: {4} {5}\n",
    "Queries:\nq1: {0} {1} {2}\nq2: {3} {4}\n\nFor each query choose the single appropriate tool, or NO_TOOL if "
    "none is suitable.\n\nAnswer q1:",
    "How urgent is the {0}? {1} {2} {3}, level {9}. Is the {4} {5}? yes no {6} {7} {8}?\n",
)


def corpus() -> Iterator[str]:
    """Texts in a fixed order: every word often enough to be learned, inside frames of our kind of prompt."""
    words = PROSE + WORK + OTHER
    step, position = 7919, 0  # a prime larger than the list, so the walk meets every word
    for line in range(6000):
        chosen = []
        for slot in range(9):
            position = (position + step + slot * line) % len(words)
            word = words[position]
            chosen.append(word.capitalize() if (line + slot) % 7 == 0 else word)
        yield FRAMES[line % len(FRAMES)].format(*chosen, line % 10)


def train() -> Any:
    """Train the tokenizer; the same library version gives the same file."""
    tokenizer = Tokenizer(models.BPE(fuse_unk=False, byte_fallback=False))
    tokenizer.normalizer = normalizers.NFC()
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(PRETOKENIZER), behavior="isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=BPE_SIZE, initial_alphabet=sorted(pre_tokenizers.ByteLevel.alphabet()), show_progress=False
    )
    tokenizer.train_from_iterator(corpus(), trainer)
    # Given to the trainer they would take ids 0.. and move every label.
    for token in added_tokens(SPECIAL_TOKENS):
        tokenizer.add_special_tokens([token]) if token.special else tokenizer.add_tokens([token])
    return tokenizer


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(train().to_str(pretty=True) + "\n", encoding="utf-8")
