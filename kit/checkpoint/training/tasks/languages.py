"""Words and sentences of the languages besides English: Chinese, Thai, Spanish, German and French.

Covers: what `kit.checkpoint.training.tasks.lingual` needs of each, written for this package. Nouns belong to a split
by their place in the list, sentences to one split each. Does not cover: English (`kit.checkpoint.training.vocabulary`).
"""

from __future__ import annotations

from dataclasses import dataclass

from kit.checkpoint.training.vocabulary import Wordings


def wordings(train: str, calibration: str, held_out: str) -> Wordings:
    """Wordings from texts whose alternatives are separated by `|`."""
    return Wordings(*(tuple(part.strip() for part in text.split("|")) for text in (train, calibration, held_out)))


@dataclass(frozen=True)
class Language:
    """One language. Sentences have the slots {noun}, {name}, {key}, {value}, {t}, {p}, {cue}, {n}.

    mentions, ask_match: a state with a noun, and which it is. equal, yes, no: a fact about a JSON state. tickets,
    ask_team, teams: a team's name, its topics and its problems. urgency: levels with what is said and cues.
    number, ask_number: a state that names a number.
    """

    nouns: tuple[str, ...]
    names: tuple[str, ...]
    keys: tuple[str, ...]
    mentions: Wordings
    ask_match: Wordings
    equal: Wordings
    yes: str
    no: str
    tickets: Wordings
    ask_team: Wordings
    teams: tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]
    ask_urgency: Wordings
    urgency: tuple[tuple[str, Wordings], ...]
    number: Wordings
    ask_number: Wordings


def _teams(text: str) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    rows = (line.split("|") for line in text.strip().splitlines())
    return tuple((name.strip(), _words(topics), _words(problems)) for name, topics, problems in rows)


def _words(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(","))


LANGUAGES = {
    "de": Language(
        _words("Brücke, Löffel, Fenster, Garten, Schlüssel, Fahrrad, Lampe, Teppich, Koffer, Brief, Apfel, Turm, Hafen, Wolke, Stuhl, Tasse, Messer, Uhr, Straße, Vogel, Bäckerei, Kerze, Mühle, Decke, Zug, Insel, Käse, Mantel, Ofen, Pinsel, Regal, Spiegel, Tür, Wald, Zaun, Kiste"),
        _words("Anke, Bernd, Carla, Dieter, Elke, Frieda, Gerd, Heike"), _words("Ort, Farbe, Abteilung, Zustand, Marke, Weg"),
        wordings("{name} sucht {noun}.|Auf dem Zettel steht: {noun}|Bestellt wurde: {noun}.|Wir brauchen {noun} für morgen.|Es geht um {noun}.|{name} hat {noun} vergessen.", "Gesucht wird {noun}.", "{name} schreibt nur: {noun}|Morgen geht es um {noun}, sagt {name}."),
        wordings("Was wird im Text genannt?|Welche Antwort steht im Text?|Worum geht es?|Was wurde bestellt oder gesucht?", "Was steht im Text?", "Welche Antwort wird genannt?|Worum geht es im Text?"),
        wordings("Ist {key} gleich {value}?|Steht bei {key} der Wert {value}?|Hat {key} den Wert {value}?|Lautet {key} {value}?", "Ist der Wert von {key} {value}?", "Steht {value} bei {key}?|Ist {key} wirklich {value}?"), "Ja", "Nein",
        wordings("{t} {p}.|Hallo, {t} {p}. Danke!|{name}: {t} {p}.|Seit heute: {t} {p}.|Bitte helfen, {t} {p}.", "Guten Tag, {t} {p}.", "Problem von {name}: {t} {p}|Bitte schnell, {t} {p}!"),
        wordings("Welches Team ist zuständig?|Wohin gehört die Anfrage?|Wer soll das übernehmen?|Worum geht es in der Nachricht?|Wer hilft hier?|Welche Gruppe passt?", "Welches Team soll das tun?", "Wer ist zuständig?|Zu welchem Team gehört das?"),
        _teams("""Rechnungen | die Rechnung, die Zahlung, die Mahnung, der Beleg | ist falsch, kam doppelt, fehlt
            Versand | das Paket, die Lieferung, der Kurier, die Sendung | ist verspätet, ging verloren, ist nicht da
            Zugang | das Passwort, die Anmeldung, das Konto, der Zugangscode | ist gesperrt, geht nicht, wird abgelehnt
            Drucker | der Drucker, der Toner, der Scanner, das Papierfach | ist leer, klemmt, macht Streifen
            Netz | das WLAN, das Internet, die Verbindung, das VPN | ist langsam, bricht ab, hat kein Signal
            Personal | der Lohn, der Urlaub, die Bewerbung, der Vertrag | ist nicht genehmigt, muss geklärt werden, stimmt nicht"""),
        wordings("Wie dringend ist es?|Wie eilig ist das?|Bewerte die Dringlichkeit.", "Wie eilig ist die Sache?", "Wie dringend ist die Sache?|Wie sehr eilt es?"),
        (("Keine Eile", wordings("es eilt nicht|irgendwann, ohne Eile|es hat viel Zeit", "irgendwann, es hat Zeit", "es hat keine Eile|es eilt gar nicht")),
         ("Diese Woche", wordings("noch diese Woche|bis Freitag dieser Woche|im Laufe der Woche", "bis Ende der Woche", "diese Woche noch bitte|bis Freitag")),
         ("Heute", wordings("noch heute|bis heute Abend|heute vor dem Feierabend", "heute noch, bitte", "heute Abend muss es fertig sein|bis heute um sechs")),
         ("Sofort", wordings("sofort, alles steht still|es brennt, bitte sofort|jetzt gleich, keine Minute warten", "sofort, es brennt", "alles steht still, jetzt sofort|bitte jetzt gleich"))),
        wordings("Nimm Nummer {n}.|{name} wählt {n}.|Es ist die Zahl {n}.|Gewonnen hat Nummer {n}.", "Die Wahl fiel auf {n}.", "{name} nimmt Nummer {n}.|Gewählt: {n}"),
        wordings("Welche Zahl wird genannt?|Welche Nummer ist es?", "Welche Nummer wird genannt?", "Welche Zahl steht im Text?"),
    ),
    "es": Language(
        _words("puente, cuchara, ventana, jardín, llave, bicicleta, lámpara, alfombra, maleta, carta, manzana, torre, puerto, nube, silla, taza, cuchillo, reloj, calle, pájaro, panadería, vela, molino, manta, tren, isla, queso, abrigo, horno, pincel, estante, espejo, puerta, bosque, valla, caja"),
        _words("Alba, Bruno, Celia, Diego, Elena, Fermín, Gloria, Héctor"), _words("lugar, color, sección, estado, marca, ruta"),
        wordings("{name} busca {noun}.|En la nota dice: {noun}|Pedido: {noun}.|Necesitamos {noun} para mañana.|Se trata de {noun}.|{name} olvidó {noun}.", "Se busca {noun}.", "{name} escribe solo: {noun}|Mañana se trata de {noun}, dice {name}."),
        wordings("¿Qué se nombra en el texto?|¿Qué opción está en el texto?|¿De qué se trata?|¿Qué se pidió o se buscó?", "¿Qué dice el texto?", "¿Qué opción se nombra?|¿De qué se trata el texto?"),
        wordings("¿Es {key} igual a {value}?|¿Tiene {key} el valor {value}?|¿Dice {key} {value}?|¿Vale {key} {value}?", "¿Es {value} el valor de {key}?", "¿Está {value} en {key}?|¿Es cierto que {key} es {value}?"), "Sí", "No",
        wordings("{t} {p}.|Hola, {t} {p}. ¡Gracias!|{name}: {t} {p}.|Desde hoy {t} {p}.|Por favor, {t} {p}.", "Buenos días, {t} {p}.", "Problema de {name}: {t} {p}|¡Rápido, {t} {p}!"),
        wordings("¿Qué equipo se encarga?|¿A dónde va la petición?|¿Quién debe atenderlo?|¿De qué trata el mensaje?|¿Quién ayuda aquí?|¿Qué grupo corresponde?", "¿Qué equipo debe hacerlo?", "¿Quién se encarga?|¿A qué equipo va?"),
        _teams("""Facturas | la factura, el pago, el cobro, el recibo | está mal, llegó dos veces, falta
            Envíos | el paquete, la entrega, el mensajero, el envío | llega tarde, se perdió, no está aquí
            Acceso | la contraseña, la cuenta, el usuario, el código de acceso | está bloqueado, no funciona, fue rechazado
            Impresoras | la impresora, la tinta, el escáner, la bandeja de papel | se acabó, se atasca, deja rayas
            Red | el wifi, internet, la conexión, la VPN | va lento, se corta, no tiene señal
            Personal | el sueldo, las vacaciones, la entrevista, el contrato | no está aprobado, hay que aclararlo, no cuadra"""),
        wordings("¿Qué tan urgente es?|¿Cuánta prisa hay?|Valora la urgencia.", "¿Cuánta urgencia tiene?", "¿Es muy urgente?|¿Cuánta prisa tiene esto?"),
        (("Sin prisa", wordings("no hay prisa|algún día, sin prisa|hay mucho tiempo", "algún día, hay tiempo", "no corre ninguna prisa|sin ninguna prisa")),
         ("Esta semana", wordings("esta semana|antes del viernes de esta semana|durante la semana", "antes de acabar la semana", "esta semana, por favor|antes del viernes")),
         ("Hoy", wordings("hoy mismo|antes de esta tarde|hoy antes de cerrar", "hoy, por favor", "hoy por la tarde debe estar|hoy antes de las seis")),
         ("Ahora", wordings("ahora mismo, todo está parado|es una emergencia, ahora|ya, sin esperar un minuto", "ahora, es una emergencia", "todo está parado, ahora mismo|ya mismo, por favor"))),
        wordings("Toma el número {n}.|{name} elige {n}.|Es el número {n}.|Ganó el número {n}.", "Se eligió el {n}.", "{name} toma el número {n}.|Elegido: {n}"),
        wordings("¿Qué número se nombra?|¿Cuál es el número?", "¿Qué número es?", "¿Qué número dice el texto?"),
    ),
    "fr": Language(
        _words("pont, cuillère, fenêtre, jardin, clé, vélo, lampe, tapis, valise, lettre, pomme, tour, port, nuage, chaise, tasse, couteau, montre, rue, oiseau, boulangerie, bougie, moulin, couverture, train, île, fromage, manteau, four, pinceau, étagère, miroir, porte, forêt, barrière, caisse"),
        _words("Agnès, Bastien, Chloé, Denis, Élise, Fabien, Gaëlle, Henri"), _words("lieu, couleur, service, état, marque, route"),
        wordings("{name} cherche {noun}.|Sur la note : {noun}|Commande : {noun}.|Il faut {noun} pour demain.|Il s'agit de {noun}.|{name} a oublié {noun}.", "On cherche {noun}.", "{name} écrit seulement : {noun}|Demain il s'agit de {noun}, dit {name}."),
        wordings("Que nomme le texte ?|Quelle réponse est dans le texte ?|De quoi s'agit-il ?|Qu'est-ce qui est cherché ?", "Que dit le texte ?", "Quelle réponse est nommée ?|De quoi parle le texte ?"),
        wordings("Est-ce que {key} est {value} ?|{key} vaut-il {value} ?|{key} a-t-il la valeur {value} ?|Est-ce que {value} est la valeur de {key} ?", "La valeur de {key} est-elle {value} ?", "Est-il vrai que {key} est {value} ?|{key} est bien {value} ?"), "Oui", "Non",
        wordings("{t} {p}.|Bonjour, {t} {p}. Merci !|{name} : {t} {p}.|Depuis ce matin {t} {p}.|Aidez-moi, {t} {p}.", "Bonsoir, {t} {p}.", "Problème de {name} : {t} {p}|Vite, {t} {p} !"),
        wordings("Quelle équipe est responsable ?|Où va la demande ?|Qui doit s'en occuper ?|De quoi parle le message ?|Qui peut aider ?|Quel groupe convient ?", "Quelle équipe doit s'en occuper ?", "Qui est responsable ?|À quelle équipe va la demande ?"),
        _teams("""Factures | la facture, le paiement, le rappel, le reçu | est faux, est venu deux fois, manque
            Livraison | le colis, la livraison, le coursier, l'envoi | est en retard, est perdu, n'est pas là
            Accès | le mot de passe, le compte, la connexion, le code d'accès | est bloqué, ne marche pas, est refusé
            Imprimantes | l'imprimante, l'encre, le scanner, le bac à papier | est vide, est coincé, fait des traits
            Réseau | le wifi, internet, la ligne, le VPN | est lent, se coupe, n'a pas de signal
            Personnel | le salaire, le congé, l'entretien, le contrat | n'est pas accordé, doit être réglé, n'est pas juste"""),
        wordings("C'est urgent à quel point ?|Quelle est l'urgence ?|Évaluez l'urgence.", "L'urgence est de combien ?", "À quel point est-ce urgent ?|Quelle est l'urgence de la demande ?"),
        (("Pas pressé", wordings("rien ne presse|un jour, sans hâte|on a le temps", "un jour, on a le temps", "ce n'est pas pressé|sans hâte")),
         ("Cette semaine", wordings("cette semaine|avant vendredi de cette semaine|dans la semaine", "avant la fin de la semaine", "encore cette semaine|avant vendredi")),
         ("Aujourd'hui", wordings("aujourd'hui même|avant ce soir|aujourd'hui avant la fermeture", "aujourd'hui, merci", "ce soir il le faut|aujourd'hui avant six heures")),
         ("Tout de suite", wordings("tout de suite, tout est arrêté|c'est une alarme, maintenant|maintenant, sans attendre une minute", "maintenant, c'est une alarme", "tout est arrêté, tout de suite|maintenant, vite"))),
        wordings("Prenez le numéro {n}.|{name} choisit {n}.|C'est le numéro {n}.|Le numéro {n} a gagné.", "On a choisi le {n}.", "{name} prend le numéro {n}.|Choisi : {n}"),
        wordings("Quel numéro est nommé ?|Quel est le numéro ?", "Quel numéro est-ce ?", "Quel numéro est dans le texte ?"),
    ),
    "zh": Language(
        _words("桥, 勺子, 窗户, 花园, 钥匙, 自行车, 台灯, 地毯, 箱子, 信, 苹果, 塔, 港口, 云, 椅子, 杯子, 刀, 手表, 街道, 鸟, 面包店, 蜡烛, 磨坊, 毯子, 火车, 岛, 奶酪, 大衣, 烤箱, 画笔, 书架, 镜子, 门, 森林, 栅栏, 盒子"),
        _words("小王, 小李, 老张, 小陈, 老刘, 小林, 阿明, 小红"), _words("地点, 颜色, 部门, 状态, 品牌, 路线"),
        wordings("{name}在找{noun}。|纸条上写着：{noun}|订单：{noun}。|明天需要{noun}。|这是关于{noun}的。|{name}忘了{noun}。", "要找的是{noun}。", "{name}只写了：{noun}|{name}说明天是关于{noun}的。"),
        wordings("文中提到了什么？|文中写的是哪一个？|这是关于什么的？|要找的是什么？", "文中写了什么？", "提到的是哪一个？|文中是关于什么的？"),
        wordings("{key}是{value}吗？|{key}的值是{value}吗？|{key}等于{value}吗？|{key}写的是{value}吗？", "{value}是{key}的值吗？", "{key}真的是{value}吗？|{key}是不是{value}？"), "是", "不是",
        wordings("{t}{p}。|你好，{t}{p}。谢谢！|{name}：{t}{p}。|从今天起{t}{p}。|请帮忙，{t}{p}。", "您好，{t}{p}。", "{name}的问题：{t}{p}|快一点，{t}{p}！"),
        wordings("哪个团队负责？|这个请求应该去哪里？|谁来处理？|这条消息是关于什么的？|谁能帮忙？|应该给哪个组？", "哪个团队来处理？", "谁负责？|这应该去哪个团队？"),
        _teams("""账单 | 发票, 付款, 催款单, 收据 | 错了, 来了两次, 不见了
            配送 | 包裹, 快递, 快递员, 货物 | 迟到了, 丢了, 没有到
            登录 | 密码, 账户, 登录页面, 验证码 | 被锁了, 不能用, 被拒绝了
            打印 | 打印机, 墨盒, 扫描仪, 纸盒 | 空了, 卡住了, 有条纹
            网络 | 无线网, 互联网, 网线, 路由器 | 很慢, 断了, 没有信号
            人事 | 工资, 假期, 面试, 合同 | 没有批准, 要说明, 不对"""),
        wordings("有多紧急？|这件事急不急？|请评紧急程度。", "这件事有多急？", "紧急程度是多少？|这有多紧急？"),
        (("不急", wordings("不着急|以后再说，不急|时间很多", "以后，时间很多", "不急，以后再说|一点也不着急")),
         ("本周", wordings("这周内|这周五之前|本周之内完成", "这周结束之前", "本周五之前|这周要完成")),
         ("今天", wordings("今天之内|今天晚上之前|今天下班之前", "今天要完成", "今天晚上要好|今天六点之前")),
         ("马上", wordings("马上，都停了|着火了，马上来|现在就要，不能等", "现在，着火了", "都停了，现在就要|马上，不能等一分钟"))),
        wordings("请选{n}号。|{name}选了{n}。|是数字{n}。|{n}号赢了。", "选的是{n}。", "{name}要{n}号。|选了：{n}"),
        wordings("提到了哪个数字？|是几号？", "是哪个数字？", "文中是哪个数字？"),
    ),
    "th": Language(
        _words("สะพาน, ช้อน, หน้าต่าง, สวน, กุญแจ, จักรยาน, โคมไฟ, พรม, กระเป๋า, จดหมาย, ส้ม, หอคอย, ท่าเรือ, เมฆ, เก้าอี้, ถ้วย, มีด, นาฬิกา, ถนน, นก, เทียน, ผ้าห่ม, รถไฟ, เกาะ, เตา, แปรง, ชั้น, กระจก, ประตู, ป่า, รั้ว, กล่อง"),
        _words("สมชาย, มาลี, นิด, วิชัย, สุดา, ต้น"), _words("ที่, สี, แผนก, สถานะ, ยี่ห้อ, ทาง"),
        wordings("{name}หา{noun}|โน้ต: {noun}|สั่ง: {noun}|ต้องการ{noun}|เรื่อง{noun}|{name}ลืม{noun}", "กำลังหา{noun}", "{name}เขียนว่า {noun}|{name}ต้องการ{noun}"),
        wordings("พูดถึงอะไร?|ข้อไหนอยู่ในข้อความ?|เรื่องอะไร?", "ข้อความพูดว่าอะไร?", "ข้อไหนถูกพูดถึง?|หาอะไร?"),
        wordings("{key}คือ {value} ไหม?|{key}เป็น {value} ไหม?|{key} = {value} ไหม?", "{value} คือ{key}ไหม?", "{key}คือ {value} ใช่ไหม?"), "ใช่", "ไม่ใช่",
        wordings("{t}{p}|สวัสดี {t}{p}|{name}: {t}{p}|วันนี้{t}{p}", "ช่วยด้วย {t}{p}", "สวัสดี วันนี้{t}{p}|{name} {t}{p}"),
        wordings("ทีมไหนดูแล?|ส่งไปทีมไหน?|ข้อความนี้เรื่องอะไร?|ใครช่วยได้?", "ทีมไหน?", "ใครดูแล?|ไปทีมไหน?"),
        _teams("""บิล | ใบแจ้งหนี้, การจ่ายเงิน, ใบเสร็จ | ผิด, มาสองครั้ง, หาย
            ส่งของ | พัสดุ, คนส่งของ, สินค้า | มาช้า, หายไป, ยังไม่มา
            เข้าระบบ | รหัสผ่าน, บัญชี, หน้าเข้าระบบ | ถูกล็อก, ใช้ไม่ได้, ถูกปฏิเสธ
            พิมพ์ | เครื่องพิมพ์, หมึก, กระดาษ | หมด, ติด, เป็นเส้น
            เน็ต | ไวไฟ, อินเทอร์เน็ต, สายเน็ต | ช้า, หลุด, ไม่มีสัญญาณ"""),
        wordings("ด่วนแค่ไหน?|รีบไหม?", "ด่วนไหม?", "รีบแค่ไหน?"),
        (("ไม่รีบ", wordings("ไม่รีบ|ไม่รีบเลย วันหลังได้", "วันหลังได้", "ไม่รีบ วันหลังก็ได้")),
         ("สัปดาห์นี้", wordings("ในสัปดาห์นี้|ก่อนวันศุกร์สัปดาห์นี้", "สัปดาห์นี้", "ก่อนวันศุกร์นี้")),
         ("วันนี้", wordings("ภายในวันนี้|ก่อนเย็นวันนี้", "วันนี้", "วันนี้ก่อนเย็น")),
         ("ทันที", wordings("ทันที รอไม่ได้|เดี๋ยวนี้ ไฟไหม้", "เดี๋ยวนี้ รอไม่ได้", "ทันที ไฟไหม้"))),
        wordings("เลือกเลข {n}|{name}เลือก {n}|คือเลข {n}", "เลขคือ {n}", "{name}เลือกเลข {n}"),
        wordings("เลขอะไร?|เลือกเลขไหน?", "เลขไหน?", "คือเลขอะไร?"),
    ),
}  # fmt: skip
