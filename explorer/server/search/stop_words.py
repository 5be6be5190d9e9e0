"""Stop words of questions to a catalog, in four languages: words of the question itself (`which`),
and words that fit everything in a catalog (`table`).

They are folded, without accents, as words are compared.
"""

from collections.abc import Collection

_ENGLISH = """
a about above column columns dataset datasets table tables after again all also am an and any are as
at be because been before being below between both but by can could did display do does doing down
during each either every find for from further get give had has have having he her here hers him his
how i if in into is it its itself just know let like list many may me more most much must my need no
nor not now of off on once only or other our out over own per please s same see select shall she
should show so some such t tell than that the their them then there these they this those through to
too under until up us very want was we were what when where whether which while who whom whose why
will with within without would you your
"""
_GERMAN = """
aber alle allem allen aller alles als also am an andere anderen auch auf aus bei beim bin bis bist
bitte da damit dann das dass dein dem den denn der des die dies diese diesem diesen dieser dieses
dir doch dort du durch ein eine einem einen einer eines er es etwas euch fur gegen gib gibt habe
haben hat hatte hier hinter ich ihm ihn ihnen ihr ihre im in ist jede jedem jeden jeder jedes jener
kann kein keine konnen konnte liste machen mein mich mir mit nach nicht noch nun nur ob oder ohne
pro sehr sein seine sich sie sind so soll sollen sondern sonst uber um und uns unser unter viel
viele vom von vor wann war waren warum was weil welche welchem welchen welcher welches wenn wer
werden wie wieviele will wir wird wo wohin zeig zeige zeigen zu zum zur zwischen
"""
_FRENCH = """
affiche afficher ai ainsi apres au aucun aussi autre aux avant avec avoir avons car ce cela celle
celles celui ces cet cette chaque combien comme comment d dans de depuis des deux donc donne donner
dont du elle elles en entre est et etaient etait etant ete etre eu eux fait faire il ils je jusque l
la le les leur leurs liste lui mais me meme mes moi mon montre montrer n ne nos notre nous on ont ou
par parmi pas peut plus pour pourquoi qu quand que quel quelle quelles quels qui quoi sa sans se
sera ses si soit son sont sous sur ta te tes toi ton tous tout toute toutes trouve trouver tu un une
vers voici vos votre vous y
"""
_SPANISH = """
al algo algunos ante antes aquel asi aun cada como con contra cual cuales cuando cuanta cuantas
cuanto cuantos da dame de del desde donde dos durante el ella ellas ellos en entre era eran es esa
esas ese eso esos esta estan estas este esto estos fue fueron ha haber hacer han hasta hay la las le
les lista listar lo los mas me mi mis mostrar mucho muchos muestra muestrame muy nada ni no nos
nosotros o otra otras otro otros para pero poco por porque puede que quien quienes se segun ser si
sin sobre solo son su sus tambien tanto te tiene tienen toda todas todo todos tu tus un una unas uno
unos y ya
"""

_LANGUAGES = tuple(frozenset(text.split()) for text in (_ENGLISH, _GERMAN, _FRENCH, _SPANISH))


def stop_words(words: Collection[str]) -> frozenset[str]:
    """Return the stop words among the folded words of a text, by the language of the text.

    The language is English unless another one has at least two stop words in the text, and more
    than English: `car` is a stop word in French, and a vehicle in English.
    """
    english, *foreign = (language.intersection(words) for language in _LANGUAGES)
    best = max(foreign, key=len)
    return best if len(best) > max(1, len(english)) else english
